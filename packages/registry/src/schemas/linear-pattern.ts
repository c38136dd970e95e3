import { RE2JS } from 're2js'

const MAX_LENGTH = 1_000
// What a text costs is bounded by its length and the size of the compiled pattern.
const MAX_SIZE = 1_000
// A class of Unicode takes as long to compile as so many characters.
const LENGTH_OF_CLASS = 50

/** A pattern of a stranger, matched in time that is linear in the length of the text. */
export interface LinearPattern {
  /** Of what it is compiled to. */
  readonly size: number
  /** The most steps that a test of this text can take. */
  costOf(text: string): number
  test(text: string): boolean
}

/** How much it takes to compile a pattern, as a number of characters. */
export function lengthOfPattern(source: string): number {
  return source.length + LENGTH_OF_CLASS * (source.match(/\\p/gi)?.length ?? 0)
}

/**
 * Compiles a pattern of JSON Schema for RE2. What RE2 does not know, such as look-ahead and back-references, what is no pattern
 * at all, and what is too large, gives why it cannot be used.
 */
export function toLinearPattern(source: string): LinearPattern | string {
  if (lengthOfPattern(source) > MAX_LENGTH) return `it has more than ${MAX_LENGTH} characters`
  try {
    const pattern = RE2JS.compile(RE2JS.translateRegExp(source))
    const size = pattern.programSize()
    if (size > MAX_SIZE) return 'it is too large when it is compiled'
    return { size, costOf: (text) => size * text.length, test: (text) => pattern.test(text) }
  } catch (err) {
    return (err as Error).message
  }
}
