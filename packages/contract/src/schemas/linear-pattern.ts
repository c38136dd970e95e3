import { RE2JS } from 're2js'

const MAX_LENGTH = 1_000
// Bounds the cost of a test, which is the product of the text's length and the program's size.
const MAX_SIZE = 1_000
// A Unicode class takes as long to compile as this many characters.
const LENGTH_OF_CLASS = 50

/** An untrusted pattern, matched in time linear in the length of the text. */
export interface LinearPattern {
  /** The size of the compiled program. */
  readonly size: number
  /** The maximum number of steps of a test of this text. */
  costOf(text: string): number
  test(text: string): boolean
}

/** The cost of compiling a pattern, in characters. */
export function lengthOfPattern(source: string): number {
  return source.length + LENGTH_OF_CLASS * (source.match(/\\p/gi)?.length ?? 0)
}

/**
 * Compiles a JSON Schema pattern with RE2. Returns the reason if it cannot be used: invalid, too large, or with features that RE2
 * lacks, such as look-ahead and back-references.
 */
export function toLinearPattern(source: string): LinearPattern | string {
  if (lengthOfPattern(source) > MAX_LENGTH) return `it has more than ${MAX_LENGTH} characters`
  try {
    const pattern = RE2JS.compile(RE2JS.translateRegExp(source))
    const size = pattern.programSize()
    if (size > MAX_SIZE) return 'it is too large once compiled'
    return { size, costOf: (text) => size * text.length, test: (text) => pattern.test(text) }
  } catch (err) {
    return (err as Error).message
  }
}
