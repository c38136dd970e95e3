/** Maximum nesting depth of JSON in a run's log or a prompt. */
export const MAX_DEPTH = 128

/** True if a JSON value is nested deeper than `depth`; recurses no deeper than that. */
export function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (depth === 0) return true
  for (const key in value) {
    if (isDeeperThan((value as Record<string, unknown>)[key], depth - 1)) return true
  }
  return false
}

/** Describes why JSON of a program is refused: it is nested too deep, or has a key `__proto__`, unsafe to copy. */
export function jsonFaultOf(value: unknown): string | undefined {
  if (isDeeperThan(value, MAX_DEPTH)) return `it is nested deeper than ${MAX_DEPTH}`
  return hasProto(value) ? 'it has a key __proto__' : undefined
}

function hasProto(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.hasOwn(value, '__proto__')) return true
  return Object.values(value).some(hasProto)
}
