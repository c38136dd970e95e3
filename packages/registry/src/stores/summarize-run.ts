import type { RunResult } from '../contract/run-result.ts'
import { beginningOf, encodePieces } from '../wire/encode-pieces.ts'
import type { ApprovalSummary, RunSummary, StoredApproval, StoredRun } from './run-store.ts'

/** Bytes of JSON up to which the arguments of an approval are listed. */
export const MAX_LISTED_ARGS = 4_096

/** Approvals that are listed of one run. */
export const MAX_LISTED_APPROVALS = 10

/** Characters of a preview. */
const PREVIEW = 256

/** How a result begins: its text, or else the JSON of what is structured. */
export function previewOf({ text, structured }: RunResult): string {
  if (text !== '' || structured === null) return beginningOf(text, PREVIEW)
  const [piece = ''] = encodePieces(structured)
  return previewOfJson(piece)
}

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
  bytes: number,
  summarize: (approval: StoredApproval) => ApprovalSummary
): RunSummary {
  const { result, approvals, ...rest } = run
  const waiting = waitingOf(run)
  return {
    ...rest,
    bytes,
    preview: result && previewOf(result),
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
