import { REG_ERR_BAD_CURSOR } from '../errors.ts'
import type { FoundApproval } from '../contract/ports/run-store.ts'

/** A position in a list of runs: the id of a page's last run, and the time that the list is sorted by. */
export interface RunPosition {
  at: number
  runId: string
}

/** A position in a list of approvals: when the run of a page's last approval began, and when that approval expires. */
export interface ApprovalPosition {
  createdAt: number
  expiresAt: number
  approvalId: string
}

/** The cursor of the page after this item. */
export function formatRunCursor({ at, runId }: RunPosition): string {
  return `${at}.${runId}`
}

/** Parses a cursor. @throws REG_ERR_BAD_CURSOR */
export function parseRunCursor(cursor: string): RunPosition {
  const [, at, runId] = /^(\d{1,15})\.([\w-]{1,64})$/.exec(cursor) ?? []
  if (at === undefined || runId === undefined) throw new REG_ERR_BAD_CURSOR()
  return { at: Number(at), runId }
}

/** The cursor of the page after this approval. */
export function formatApprovalCursor({ run, approval }: FoundApproval): string {
  return `${run.createdAt}.${approval.expiresAt}.${approval.approvalId}`
}

/** Parses a cursor of a page of approvals. @throws REG_ERR_BAD_CURSOR */
export function parseApprovalCursor(cursor: string): ApprovalPosition {
  const [, createdAt, expiresAt, approvalId] =
    /^(\d{1,15})\.(\d{1,15})\.([\w-]{1,64}\.\d{1,15})$/.exec(cursor) ?? []
  if (approvalId === undefined) throw new REG_ERR_BAD_CURSOR()
  return { createdAt: Number(createdAt), expiresAt: Number(expiresAt), approvalId }
}

/** The id of an approval's run, with which the approval's id begins. */
export function runIdOf(approvalId: string): string {
  return approvalId.slice(0, Math.max(0, approvalId.lastIndexOf('.')))
}
