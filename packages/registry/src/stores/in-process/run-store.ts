import { encodePieces, RUN_ERR_FENCED, type InputOutcome, type RunStore } from '@svc/contract'
import { runIdOf } from '@svc/contract/stores'
import { findInput, listInputs, summaryOf } from './input-lists.ts'
import { recordStep, type RunTable } from './run-table.ts'
import { listChangedRuns, listOwnedRuns, listRuns, listLeftRuns } from './run-lists.ts'

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
