import { REG_ERR_BAD_CURSOR } from '../errors.ts'

/** What open pushes are listed by. */
export interface PushPosition {
  taskId: string
  configId: string
}

/** The cursor of the page after this one. */
export function formatPushCursor(taskId: string, configId: string): string {
  return JSON.stringify([taskId, configId])
}

/** Where a page begins. @throws REG_ERR_BAD_CURSOR */
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
