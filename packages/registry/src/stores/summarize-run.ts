import { PREVIEW } from '../contract/run-result.ts'
import { beginningOf } from '../wire/encode-pieces.ts'
import type { ApprovalSummary, RunSummary, StoredApproval, StoredRun } from '../contract/ports/run-store.ts'

/** Bytes of JSON up to which the arguments of an approval are listed. */
export const MAX_LISTED_ARGS = 4_096

/** Approvals that are listed of one run. */
export const MAX_LISTED_APPROVALS = 10

/** How a long JSON begins. */
export function previewOfJson(json: string): string {
  return beginningOf(json, PREVIEW)
}

/** What is listed of an approval. */
export function summarizeApproval({ args, ...approval }: StoredApproval): ApprovalSummary {
  const json = JSON.stringify(args) ?? ''
  const argsBytes = Buffer.byteLength(json)
  if (argsBytes > MAX_LISTED_ARGS) return { ...approval, argsPreview: previewOfJson(json), argsBytes }
  return args === undefined ? { ...approval, argsBytes } : { ...approval, args, argsBytes }
}

/** What is listed of a run; `summarize` may know what is listed of an approval. */
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

/** The approvals that a run waits for, those that expire first before the others. */
export function waitingOf({ status, approvals }: StoredRun): StoredApproval[] {
  if (status !== 'input-required') return []
  return approvals.filter(({ answer }) => answer === null).sort(firstToExpire)
}

type Expiring = Pick<StoredApproval, 'expiresAt' | 'approvalId'>

/** Below zero where the first one is listed before the second. */
export function firstToExpire(a: Expiring, b: Expiring): number {
  return a.expiresAt - b.expiresAt || (a.approvalId < b.approvalId ? -1 : a.approvalId > b.approvalId ? 1 : 0)
}
