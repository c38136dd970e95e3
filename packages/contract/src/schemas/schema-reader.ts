import { ARRAY_KEYWORDS } from './array-keywords.ts'
import { GENERAL_KEYWORDS } from './general-keywords.ts'
import { isRecord, type Keyword, type SchemaSource } from './keyword.ts'
import { lengthOfPattern, toLinearPattern, type LinearPattern } from './linear-pattern.ts'
import { OBJECT_KEYWORDS } from './object-keywords.ts'
import { SCALAR_KEYWORDS } from './scalar-keywords.ts'
import type { Rule, SchemaNode } from './schema-check.ts'

const KEYWORDS = new Map<string, Keyword>(
  Object.entries({ ...GENERAL_KEYWORDS, ...SCALAR_KEYWORDS, ...ARRAY_KEYWORDS, ...OBJECT_KEYWORDS })
)
const ANY: SchemaNode = { rules: [] }
const NOTHING: SchemaNode = { rules: [(_value, check, path) => check.fault(path, 'must NOT be there')] }

const MOST_SCHEMAS = 5_000
/** Lengths and sizes of all patterns together: compiling them takes some microseconds each. */
const MOST_PATTERNS = 8_000
const MOST_TOLD = 20

/** Reads an untrusted schema; leaves out keywords that it cannot read. */
export class SchemaReader implements SchemaSource {
  /** The keywords left out, with reasons; at most 20. */
  readonly leftOut: string[] = []
  readonly #document: unknown
  readonly #nodes = new Map<object, SchemaNode>()
  readonly #patterns = new Map<string, LinearPattern | string>()
  #patternsLeft = MOST_PATTERNS
  #path: string[] = []

  constructor(document: unknown) {
    this.#document = document
  }

  get isWhole(): boolean {
    return this.leftOut.length === 0
  }

  node(schema: unknown, where: string): SchemaNode {
    if (schema === true) return ANY
    if (schema === false) return NOTHING
    if (!isRecord(schema)) return this.#leaveOut(where, 'it is no schema')
    const known = this.#nodes.get(schema)
    if (known !== undefined) return known
    if (this.#nodes.size >= MOST_SCHEMAS)
      return this.#leaveOut(where, `there are more than ${MOST_SCHEMAS} schemas`)
    const rules: Rule[] = []
    const node = { rules }
    // First: it may lead back to itself.
    this.#nodes.set(schema, node)
    const outside = this.#path
    this.#path = where === '' ? outside : [...outside, where]
    for (const [name, given] of Object.entries(schema)) {
      const rule = KEYWORDS.get(name)?.(given, schema, this)
      if (typeof rule === 'string') this.#leaveOut(name, rule)
      else if (rule !== undefined) rules.push(rule)
    }
    this.#path = outside
    return node
  }

  pattern(source: string): LinearPattern | string {
    let pattern = this.#patterns.get(source)
    if (pattern === undefined) {
      this.#patternsLeft -= lengthOfPattern(source)
      pattern = this.#patternsLeft < 0 ? 'there are too many patterns' : toLinearPattern(source)
      if (typeof pattern !== 'string') this.#patternsLeft -= pattern.size
      this.#patterns.set(source, pattern)
    }
    return pattern
  }

  // RFC 6901, section 6.
  target(ref: string): SchemaNode | undefined {
    if (!/^#(?:\/|$)/.test(ref)) return undefined
    let found = this.#document
    for (const token of pointerOf(ref)) {
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, token)) return undefined
      found = (found as Record<string, unknown>)[token]
    }
    return typeof found === 'boolean' || isRecord(found) ? this.node(found, ref.slice(0, 64)) : undefined
  }

  #leaveOut(where: string, why: string): SchemaNode {
    if (this.leftOut.length < MOST_TOLD)
      this.leftOut.push(`${[...this.#path, where].join('/').slice(0, 256)}: ${why}`)
    return ANY
  }
}

function pointerOf(ref: string): string[] {
  try {
    const tokens = decodeURIComponent(ref).split('/').slice(1)
    return tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
  } catch {
    return ['']
  }
}
