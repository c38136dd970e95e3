import {
  encodePieces,
  RUN_ERR_FENCED,
  runnableKeyText,
  type CheckpointStore,
  type InputOutcome,
  type NextQuery,
  type RunQueue,
  type RunStore
} from '@svc/contract'
import { QueueWorkers, runIdOf } from '@svc/contract/stores'
import {
  findInput,
  listChangedRuns,
  listInputs,
  listLeftRuns,
  listOwnedRuns,
  listRuns,
  summaryOf
} from './lists.ts'
import { recordStep, wake, type RunEntry, type RunTable } from './run-table.ts'

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
