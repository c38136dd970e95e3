/** How deep JSON may be nested that goes into a run's log or a prompt. */
export const MAX_DEPTH = 128

/** Whether a JSON value is nested deeper than that; it never goes deeper itself. */
export function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  for (const key in value) {
    if (isDeeperThan((value as Record<string, unknown>)[key], depth - 1)) return true
  }
  return false
}
