import {
  encodePieces,
  isTerminalStatus,
  runnableKeyText,
  type CheckpointStore,
  type InputOutcome,
  type NextQuery,
  type RunChange,
  type RunQueue,
  type RunStore,
  type StoredRun,
  type StreamLog
} from '@svc/contract'
import { RUN_ERR_FENCED } from '@svc/contract/errors'
import { QueueWorkers, runIdOf } from '@svc/contract/stores'
import {
  findInput,
  listChangedRuns,
  listInputs,
  listLeftRuns,
  listOwnedRuns,
  listRuns,
  summarize,
  summaryOf
} from './lists.ts'
import { recordStep, wake, type RunEntry, type RunTable } from './run-table.ts'
import type { InProcessWebhooks } from './webhook-store.ts'

/** The records of runs and the journal of their steps, in process memory. */
export function createInProcessRunStore(runs: RunTable): RunStore {
  return {
    create(record) {
      const earlier = runs.add({ ...record })
      return earlier && summaryOf(earlier)
    },
    get(runId) {
      const record = runs.find(runId)?.record
      return record && { ...record }
    },
    find(runId) {
      const run = runs.find(runId)
      return run && summaryOf(run)
    },
    findStarted(start) {
      const run = runs.findStarted(start)
      return run && summaryOf(run)
    },
    freeStartKey: (runId) => runs.freeStartKey(runId),
    *readResult(runId) {
      const result = runs.find(runId)?.record.result
      if (result) yield* encodePieces(result)
    },
    list: (query) => listRuns(runs.all(), query),
    listChanged: (query) => listChangedRuns(runs.all(), query),
    listLeft: (query) => listLeftRuns(runs.live(), query),
    listOwned: (query) => listOwnedRuns(runs, query),
    listInputs: (query) => listInputs(runs.live(), query),
    findInput: (inputId) => findInput(runs.find(runIdOf(inputId)), inputId),
    *readArgs(inputId) {
      const { inputs } = runs.find(runIdOf(inputId))?.record ?? {}
      const args = inputs?.find((each) => each.inputId === inputId)?.args
      if (args !== undefined) yield* encodePieces(args)
    },
    lease(runId) {
      const run = runs.findLive(runId)
      return run && runs.lease(run)
    },
    requestCancel(runId, leftTurn) {
      const record = runs.findLive(runId)?.record
      if (record === undefined) return false
      if (!record.cancelRequested) record.leftTurn = leftTurn ?? null
      return (record.cancelRequested = true)
    },
    answerInput(runId, inputId, answer) {
      const record = runs.findLive(runId)?.record
      const input = record?.inputs.find((each) => each.inputId === inputId)
      if (record === undefined || input === undefined || input.answer !== null) return false
      record.inputs = record.inputs.map((each) => (each === input ? { ...each, answer } : each))
      return true
    },
    replaceAnswer(inputId, from, answer, sealKey) {
      const run = runs.findLive(runIdOf(inputId))
      const input = run?.record.inputs.find((each) => each.inputId === inputId)
      if (run === undefined || input === undefined) return false
      const isSame = from === null ? input.answer === null : isSealedAs(from, input.answer)
      if (!isSame) return false
      const { sealKey: _, ...rest } = input
      const replaced = { ...rest, ...(sealKey !== undefined && { sealKey }), answer }
      run.record.inputs = run.record.inputs.map((each) => (each === input ? replaced : each))
      run.summaries?.delete(inputId)
      return true
    },
    readStep(runId, key) {
      const steps = runs.find(runId)?.steps
      return steps?.has(key) ? { output: structuredClone(steps.get(key)) } : undefined
    },
    recordStep(runId, epoch, key, output) {
      const run = runs.findLive(runId)
      if (run === undefined || run.record.epoch !== epoch) throw new RUN_ERR_FENCED(runId)
      recordStep(run, key, output)
    },
    offerSteer: (steer) => runs.offerSteer(steer),
    findSteer: (steerId) => runs.findSteer(steerId),
    remove: (runId) => runs.remove(runId),
    sweep: (now) => runs.sweep(now),
    onRemove: (listener) => runs.onRemove(listener)
  }
}

function isSealedAs({ sealed }: InputOutcome, answer: InputOutcome | null): boolean {
  return sealed !== undefined && answer?.sealed === sealed
}

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

/**
 * The logs of runs, in process memory.
 * @param report gets each change of a run's record
 */
export function createInProcessStreamLog(runs: RunTable, report: InProcessWebhooks['report']): StreamLog {
  return {
    append(runId, epoch, entries, change, steps = []) {
      const run = runs.findLive(runId)
      if (run === undefined || run.record.epoch !== epoch) throw new RUN_ERR_FENCED(runId)
      for (const entry of entries) run.log.push(entry)
      for (const { key, output } of steps) recordStep(run, key, output)
      if (change !== undefined) {
        applyChange(run.record, change)
        if (change.preview !== undefined) run.preview = change.preview
        if (change.stats !== undefined) run.stats = change.stats
        // Summarized now, since a list may have to show thousands at once.
        if (change.input !== undefined) summarize(run, change.input)
        report(run.record, change)
        if (isTerminalStatus(change.status)) runs.end(run)
      }
      wake(run)
    },
    read: (runId, after, limit) => runs.find(runId)?.log.read(after, limit) ?? [],
    abandon(runId) {
      const run = runs.find(runId)
      if (run !== undefined) wake(run, true)
    },
    follow(runId, follower) {
      const run = runs.find(runId)
      if (run === undefined) {
        follower(true)
        return () => {}
      }
      const followers = (run.followers ??= new Set())
      followers.add(follower)
      return () => {
        followers.delete(follower)
        if (followers.size === 0 && run.followers === followers) run.followers = undefined
      }
    }
  }
}

function applyChange(record: StoredRun, change: RunChange): void {
  record.status = change.status
  record.updatedAt = change.at
  if (change.result !== undefined) record.result = change.result
  if (change.error !== undefined) record.error = change.error
  if (change.input !== undefined) record.inputs = [...record.inputs, change.input]
}

/** Checkpoints in process memory. */
export function createInProcessCheckpointStore(): CheckpointStore {
  const checkpoints = new Map<string, { epoch: number; json: string }>()
  return {
    save(runId, epoch, state) {
      if ((checkpoints.get(runId)?.epoch ?? 0) > epoch) throw new RUN_ERR_FENCED(runId)
      checkpoints.set(runId, { epoch, json: JSON.stringify(state) })
    },
    size(runId) {
      const found = checkpoints.get(runId)
      return found && Buffer.byteLength(found.json)
    },
    load(runId) {
      const found = checkpoints.get(runId)
      return found && { epoch: found.epoch, state: JSON.parse(found.json) as unknown }
    },
    remove: (runId) => void checkpoints.delete(runId)
  }
}
