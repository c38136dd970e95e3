import { REG_ERR_BAD_CURSOR } from '../errors.ts'
import type { FoundApproval } from '../contract/ports/run-store.ts'

/** Where a page ends: the id of its last item, and the time that its list goes by. */
export interface RunPosition {
  at: number
  runId: string
}

/** Where a page of approvals ends: when the run of the last one began, and when that one expires. */
export interface ApprovalPosition {
  createdAt: number
  expiresAt: number
  approvalId: string
}

/** The cursor of the page after this item. */
export function formatRunCursor({ at, runId }: RunPosition): string {
  return `${at}.${runId}`
}

/** Where a page begins. @throws REG_ERR_BAD_CURSOR */
export function parseRunCursor(cursor: string): RunPosition {
  const [, at, runId] = /^(\d{1,15})\.([\w-]{1,64})$/.exec(cursor) ?? []
  if (at === undefined || runId === undefined) throw new REG_ERR_BAD_CURSOR()
  return { at: Number(at), runId }
}

/** The cursor of the page after this approval. */
export function formatApprovalCursor({ run, approval }: FoundApproval): string {
  return `${run.createdAt}.${approval.expiresAt}.${approval.approvalId}`
}

/** Where a page of approvals begins. @throws REG_ERR_BAD_CURSOR */
export function parseApprovalCursor(cursor: string): ApprovalPosition {
  const [, createdAt, expiresAt, approvalId] =
    /^(\d{1,15})\.(\d{1,15})\.([\w-]{1,64}\.\d{1,15})$/.exec(cursor) ?? []
  if (approvalId === undefined) throw new REG_ERR_BAD_CURSOR()
  return { createdAt: Number(createdAt), expiresAt: Number(expiresAt), approvalId }
}

/** The run of an approval, whose id begins with that of its run. */
export function runIdOf(approvalId: string): string {
  return approvalId.slice(0, Math.max(0, approvalId.lastIndexOf('.')))
}
