import { PREVIEW } from '../contract/run-result.ts'
import { beginningOf } from '../wire/encode-pieces.ts'
import type { ApprovalSummary, RunSummary, StoredApproval, StoredRun } from '../contract/ports/run-store.ts'

/** The maximum size, in bytes of JSON, of the arguments in a listed approval. */
export const MAX_LISTED_ARGS = 4_096

/** The maximum number of approvals in a listed run. */
export const MAX_LISTED_APPROVALS = 10

/** The beginning of a long JSON text. */
export function previewOfJson(json: string): string {
  return beginningOf(json, PREVIEW)
}

/** Summarizes an approval for a list. */
export function summarizeApproval({ args, ...approval }: StoredApproval): ApprovalSummary {
  const json = JSON.stringify(args) ?? ''
  const argsBytes = Buffer.byteLength(json)
  if (argsBytes > MAX_LISTED_ARGS) return { ...approval, argsPreview: previewOfJson(json), argsBytes }
  return args === undefined ? { ...approval, argsBytes } : { ...approval, args, argsBytes }
}

/** Summarizes a run for a list; `summarize` may cache the summaries of approvals. */
export function summarizeRun(
  run: StoredRun,
  { preview, bytes }: Pick<RunSummary, 'preview' | 'bytes'>,
  summarize: (approval: StoredApproval) => ApprovalSummary
): RunSummary {
  const { result: _, approvals: __, ...rest } = run
  const waiting = waitingOf(run)
  return {
    ...rest,
    bytes,
    preview,
    waiting: {
      approvals: waiting.slice(0, MAX_LISTED_APPROVALS).map(summarize),
      count: waiting.length
    }
  }
}

/** The pending approvals of a run, the first to expire first. */
export function waitingOf({ status, approvals }: StoredRun): StoredApproval[] {
  if (status !== 'input-required') return []
  return approvals.filter(({ answer }) => answer === null).sort(firstToExpire)
}

type Expiring = Pick<StoredApproval, 'expiresAt' | 'approvalId'>

/** Compares approvals: the first to expire comes first. */
export function firstToExpire(a: Expiring, b: Expiring): number {
  return a.expiresAt - b.expiresAt || (a.approvalId < b.approvalId ? -1 : a.approvalId > b.approvalId ? 1 : 0)
}
