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

/** What is wrong with JSON data that a program gave: it is nested too deep, or would change a prototype where it is copied. */
export function jsonFaultOf(value: unknown): string | undefined {
  if (isDeeperThan(value, MAX_DEPTH)) return `it is nested deeper than ${MAX_DEPTH}`
  return hasProto(value) ? 'it has a key __proto__' : undefined
}

function hasProto(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.hasOwn(value, '__proto__')) return true
  return Object.values(value).some(hasProto)
}
