import { runnableKeyText, type CheckpointStore, type NextQuery, type RunQueue } from '@svc/contract'
import { QueueWorkers } from '@svc/contract/stores'
import { summaryOf } from './input-lists.ts'
import { wake, type RunEntry, type RunTable } from './run-table.ts'

/** Queued runs in process memory. */
export function createInProcessRunQueue(runs: RunTable, checkpoints: CheckpointStore): RunQueue {
  const workers = new QueueWorkers()
  // The waiting runs of each owner, in the order in which they were added.
  const owners = new Map<string, Map<string, RunEntry>>()
  const begun = new Set<RunEntry>()

  const countBegun = (owner: string) => {
    let count = 0
    for (const run of begun)
      if (run.slot === undefined) begun.delete(run)
      else if (run.record.owner === owner) count++
    return count
  }

  function findNext({ runnables, perOwner, unlimited }: NextQuery): RunEntry | undefined {
    const known = new Set(runnables.map(runnableKeyText))
    let next: { run: RunEntry; count: number } | undefined
    for (const [owner, waiting] of owners) {
      if (waiting.size === 0) owners.delete(owner)
      const count = countBegun(owner)
      if (count >= perOwner && owner !== unlimited) continue
      const run = firstOf(waiting, known)
      if (run === undefined) continue
      const isSooner =
        next === undefined ||
        count < next.count ||
        (count === next.count && run.record.queuedAt! < next.run.record.queuedAt!)
      if (isSooner) next = { run, count }
    }
    return next?.run
  }

  return {
    add(record, first, checkpoint) {
      const { runId, owner } = record
      const isNew = runs.find(runId) === undefined
      const earlier = isNew ? runs.add({ ...record }) : undefined
      if (earlier !== undefined) return summaryOf(earlier)
      const run = runs.findLive(runId)
      // It was canceled before it could wait.
      if (run === undefined) return undefined
      run.record = { ...record }
      run.log.push(first)
      void checkpoints.save(runId, 0, checkpoint)
      const waiting = owners.get(owner) ?? new Map<string, RunEntry>()
      owners.set(owner, waiting.set(runId, run))
      run.queue = waiting
      wake(run)
      workers.look(1)
      return undefined
    },
    next(query) {
      const run = findNext(query)
      if (run === undefined) return undefined
      const { record } = run
      const epoch = runs.lease(run)
      record.status = 'working'
      record.updatedAt = Date.now()
      begun.add(run)
      const { runId, owner, registry, kind, name } = record
      return { runId, owner, registry, kind, name, epoch }
    },
    withdraw(runId) {
      const run = runs.findLive(runId)
      return run?.queue && runs.lease(run)
    },
    isWaiting: () => [...owners.values()].some((waiting) => waiting.size > 0),
    serve: (concurrency, take) => workers.serve(concurrency, take),
    look: () => workers.look()
  }
}

function firstOf(waiting: ReadonlyMap<string, RunEntry>, known: ReadonlySet<string>): RunEntry | undefined {
  for (const run of waiting.values()) if (known.has(runnableKeyText(run.record))) return run
  return undefined
}
