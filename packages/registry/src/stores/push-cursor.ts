import { REG_ERR_BAD_CURSOR } from '../errors.ts'

/** A position in the list of open pushes. */
export interface PushPosition {
  taskId: string
  configId: string
}

/** The cursor of the page after this push. */
export function formatPushCursor(taskId: string, configId: string): string {
  return JSON.stringify([taskId, configId])
}

/** Parses a cursor. @throws REG_ERR_BAD_CURSOR */
export function parsePushCursor(cursor: string): PushPosition {
  const [taskId, configId] = parse(cursor)
  if (typeof taskId !== 'string' || typeof configId !== 'string') throw new REG_ERR_BAD_CURSOR()
  return { taskId, configId }
}

function parse(cursor: string): unknown[] {
  try {
    const value: unknown = JSON.parse(cursor)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
