/**
 * A value without halves of surrogate pairs in its texts and keys, which providers and databases refuse; U+FFFD replaces them. Copies
 * what it changes only; objects that are not plain stay as they are.
 */
export function wellFormed<T>(value: T): T {
  if (typeof value === 'string') return value.toWellFormed() as T
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map((each: unknown) => wellFormed(each))
    return items.some((each, index) => each !== value[index]) ? (items as T) : value
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  let isChanged = false
  const entries = Object.entries(value).map(([key, each]: [string, unknown]) => {
    const entry = [key.toWellFormed(), wellFormed(each)] as const
    isChanged ||= entry[0] !== key || entry[1] !== each
    return entry
  })
  return isChanged ? (Object.fromEntries(entries) as T) : value
}

// As `JSON.stringify` escapes them; a backslash before it, which makes it a plain text, costs a copy only.
const LONE = /\\ud[89a-f]/i

/** Parses JSON, without halves of surrogate pairs. @throws SyntaxError */
export function parseWellFormed(json: string): unknown {
  const value: unknown = JSON.parse(json)
  return LONE.test(json) || !json.isWellFormed() ? wellFormed(value) : value
}
