import { REG_ERR_BAD_CURSOR } from '../errors.ts'

/** Where a page ends: the time and the id of its last item. */
export interface RunPosition {
  createdAt: number
  runId: string
}

/** The cursor of the page after this item. */
export function formatRunCursor({ createdAt, runId }: RunPosition): string {
  return `${createdAt}.${runId}`
}

/** Where a page begins. @throws REG_ERR_BAD_CURSOR */
export function parseRunCursor(cursor: string): RunPosition {
  const [, createdAt, runId] = /^(\d{1,15})\.([\w-]{1,64})$/.exec(cursor) ?? []
  if (createdAt === undefined || runId === undefined) throw new REG_ERR_BAD_CURSOR()
  return { createdAt: Number(createdAt), runId }
}
