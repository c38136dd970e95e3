import type { StoredRun } from '@svc/registry'
import { badParams } from '../wire/decode-params.ts'

/** Where a page ends. */
export type Position = Pick<StoredRun, 'updatedAt' | 'runId'>

/** By the time of the last change, the newest first. */
export function newestFirst(a: Position, b: Position): number {
  return b.updatedAt - a.updatedAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0)
}

/** Whether a run comes on a later page. */
export function isAfter(run: Position, start: Position): boolean {
  return newestFirst(start, run) < 0
}

export function formatPageToken({ updatedAt, runId }: Position): string {
  return `${updatedAt}.${runId}`
}

/** @throws A2A_ERR_BAD_PARAMS */
export function parsePageToken(token: string): Position {
  const [, updatedAt, runId] = /^(\d{1,15})\.([\w-]{1,64})$/.exec(token) ?? []
  if (updatedAt === undefined || runId === undefined) throw badParams('pageToken', 'No page gave this token')
  return { updatedAt: Number(updatedAt), runId }
}
