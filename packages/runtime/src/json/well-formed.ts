/**
 * A value without halves of surrogate pairs in its texts and keys, which providers and databases refuse; U+FFFD replaces them. Returns
 * the value itself if it has none. Objects that are not plain stay as they are.
 */
export function wellFormed<T>(value: T): T {
  return isWellFormed(value) ? value : (replaceHalves(value) as T)
}

/** Parses JSON, without halves of surrogate pairs. @throws SyntaxError */
export function parseWellFormed(json: string): unknown {
  const value: unknown = JSON.parse(json)
  return ESCAPED_HALF.test(json) || !json.isWellFormed() ? wellFormed(value) : value
}

// Of pairs too: a value that has none costs one look more.
const ESCAPED_HALF = /\\ud[89a-f]/i

function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (Array.isArray(value)) return value.every(isWellFormed)
  if (!isPlain(value)) return true
  for (const key in value) if (!key.isWellFormed() || !isWellFormed(value[key])) return false
  return true
}

function replaceHalves(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(replaceHalves)
  if (!isPlain(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key.toWellFormed(), replaceHalves(each)])
  )
}

/** True for an object of no class, as JSON and literals make them. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
