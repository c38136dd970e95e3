import { PREVIEW } from '../run-result.ts'
import { beginningOf } from '../json.ts'
import type { InputSummary, PendingSummary, RunSummary, StoredInput, StoredRun } from '../ports/run-store.ts'

/** The maximum size, in bytes of JSON, of the arguments of a listed input. */
export const MAX_LISTED_ARGS = 4_096

/** The maximum number of approvals, and of other inputs, in a listed run. */
export const MAX_LISTED_INPUTS = 10

/** The beginning of a long JSON text. */
export function previewOfJson(json: string): string {
  return beginningOf(json, PREVIEW)
}

/** Summarizes an input for a list. */
export function summarizeInput({ args, path: _, ...input }: StoredInput): InputSummary {
  const json = JSON.stringify(args) ?? ''
  const argsBytes = Buffer.byteLength(json)
  if (argsBytes > MAX_LISTED_ARGS) return { ...input, argsPreview: previewOfJson(json), argsBytes }
  return args === undefined ? { ...input, argsBytes } : { ...input, args, argsBytes }
}

/** No pending inputs. */
export const NOTHING_PENDING: PendingSummary = Object.freeze({ first: [], count: 0 })

/** Summarizes a run for a list; `summarize` may cache the summaries of inputs. */
export function summarizeRun(
  run: StoredRun,
  { preview, stats, bytes, queuePosition }: Pick<RunSummary, 'preview' | 'stats' | 'bytes' | 'queuePosition'>,
  summarize: (input: StoredInput) => InputSummary
): RunSummary {
  const { result: _, inputs: __, ...rest } = run
  return {
    ...rest,
    bytes,
    preview,
    stats,
    queuePosition,
    waiting: summarizeWaiting(pendingOf(run), summarize)
  }
}

function summarizeWaiting(
  pending: readonly StoredInput[],
  summarize: (input: StoredInput) => InputSummary
): RunSummary['waiting'] {
  if (pending.length === 0) return { approvals: NOTHING_PENDING, inputs: NOTHING_PENDING }
  const summaryOf = (inputs: readonly StoredInput[]) => ({
    first: inputs.slice(0, MAX_LISTED_INPUTS).map(summarize),
    count: inputs.length
  })
  return {
    approvals: summaryOf(pending.filter(({ kind }) => kind === 'approval')),
    inputs: summaryOf(pending.filter(({ kind }) => kind !== 'approval'))
  }
}

/** The pending inputs of a run, the first to expire first. */
export function pendingOf({ status, inputs }: StoredRun): StoredInput[] {
  if (status !== 'input-required') return []
  return inputs.filter(({ answer }) => answer === null).sort(firstToExpire)
}

type Expiring = Pick<StoredInput, 'expiresAt' | 'inputId'>

/** Compares inputs: the first to expire comes first. */
export function firstToExpire(a: Expiring, b: Expiring): number {
  return a.expiresAt - b.expiresAt || (a.inputId < b.inputId ? -1 : a.inputId > b.inputId ? 1 : 0)
}
