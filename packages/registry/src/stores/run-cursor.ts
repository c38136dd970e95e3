import { REG_ERR_BAD_CURSOR } from '../errors.ts'

/** Where a page ends: the id of its last item, and the time that its list goes by. */
export interface RunPosition {
  at: number
  runId: string
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
