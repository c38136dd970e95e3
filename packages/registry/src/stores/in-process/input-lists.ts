import {
  firstToExpire,
  formatInputCursor,
  parseInputCursor,
  pendingOf,
  runIdOf,
  summarizeInput,
  summarizeRun
} from '@svc/contract/stores'
import {
  createScopeFilter,
  type FoundInput,
  type InputPage,
  type InputQuery,
  type InputSummary,
  type RunSummary,
  type StoredInput,
  type StoredRun
} from '@svc/contract'
import type { RunEntry } from './run-table.ts'

/** Summarizes a run for a list. */
export function summaryOf(run: RunEntry): RunSummary {
  const { record, preview, stats, log } = run
  const known = { preview, stats, bytes: log.size, queuePosition: positionOf(run) }
  return summarizeRun(record, known, (input) => summarize(run, input))
}

function positionOf({ queue, record }: RunEntry): number | null {
  if (queue === undefined) return null
  let position = 1
  for (const runId of queue.keys()) {
    if (runId === record.runId) break
    position++
  }
  return position
}

/** Summarizes an input; its arguments are encoded once, however often it is listed. */
export function summarize(run: RunEntry, input: StoredInput): InputSummary {
  const summaries = (run.summaries ??= new Map())
  let summary = summaries.get(input.inputId)
  if (summary === undefined) summaries.set(input.inputId, (summary = summarizeInput(input)))
  return { ...summary, answer: input.answer }
}

/** An input with its run. */
export function findInput(run: RunEntry | undefined, inputId: string): FoundInput | undefined {
  const input = run?.record.inputs.find((each) => each.inputId === inputId)
  return run && input && toFound(run, input)
}

/** Lists a page of pending inputs, those of the newest run first. @throws REG_ERR_BAD_CURSOR */
export function listInputs(
  kept: readonly RunEntry[],
  { kinds, scope, owner, runId, limit, cursor }: InputQuery
): InputPage {
  const after = cursor === undefined ? undefined : parseInputCursor(cursor)
  const last = after && { createdAt: after.createdAt, runId: runIdOf(after.inputId) }
  const isInScope = scope === undefined ? () => true : createScopeFilter(scope)
  const waiting = kept
    .filter(
      ({ record }) =>
        record.status === 'input-required' &&
        (owner === undefined || record.owner === owner) &&
        (runId === undefined || record.runId === runId) &&
        (last === undefined || newestFirst(record, last) >= 0) &&
        isInScope(record)
    )
    .sort((a, b) => newestFirst(a.record, b.record))

  const inputs: FoundInput[] = []
  for (const run of waiting) {
    for (const input of pendingOf(run.record)) {
      if (!kinds.includes(input.kind)) continue
      if (after && run.record.runId === last!.runId && firstToExpire(input, after) <= 0) continue
      if (inputs.length === limit) return { inputs, nextCursor: formatInputCursor(inputs.at(-1)!) }
      inputs.push(toFound(run, input))
    }
  }
  return { inputs, nextCursor: null }
}

function toFound(run: RunEntry, input: StoredInput): FoundInput {
  const { runId, registry, kind, name, owner, createdAt, status } = run.record
  return {
    run: { runId, registry, kind, name, owner, createdAt, status },
    input: summarize(run, input)
  }
}

type Begun = Pick<StoredRun, 'createdAt' | 'runId'>

function newestFirst(a: Begun, b: Begun): number {
  return b.createdAt - a.createdAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0)
}
