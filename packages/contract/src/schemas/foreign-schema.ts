import { findJsonFault } from '../json.ts'
import {
  ARRAY_KEYWORDS,
  GENERAL_KEYWORDS,
  isRecord,
  OBJECT_KEYWORDS,
  SCALAR_KEYWORDS,
  SchemaCheck,
  TooCostly,
  type Keyword,
  type Rule,
  type SchemaNode,
  type SchemaSource
} from './keywords.ts'
import { lengthOfPattern, toLinearPattern, type LinearPattern } from './linear-pattern.ts'

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
class SchemaReader implements SchemaSource {
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

/** Returns the faults of a value with their paths, 5 at most; undefined if it fits. Never changes the value. */
export type CheckForeign = (value: unknown) => string | undefined

/** A compiled untrusted schema. */
export interface ForeignSchema {
  readonly check: CheckForeign
  /** The parts of the schema that are not checked, with the reasons; 20 at most. */
  readonly leftOut: readonly string[]
}

/** Options of the checks. */
export interface ForeignSchemaOptions {
  /** The name of the whole value in faults; default `it`. */
  subject?: string
  /** True if values that are too costly to check count as valid; default false. */
  lenient?: boolean
}

const MOST_CHARACTERS = 262_144
const MAX_SCHEMA_DEPTH = 128

/**
 * Compiles an untrusted JSON Schema: from an MCP server, a client or another agent. It never generates code from the schema, and a
 * check of any value takes bounded time: RE2 matches patterns in linear time, and a check that costs too much is a fault. Keywords
 * that cannot be checked, such as a pattern with look-ahead, are left out; no schema is refused.
 *
 * Supports draft 2020-12, with the tuples, `dependencies` and `definitions` of earlier drafts; a `$ref` must stay within the document.
 */
export function compileForeignSchema(
  schema: unknown,
  { subject = 'it', lenient = false }: ForeignSchemaOptions = {}
): ForeignSchema {
  const { node, leftOut } = read(schema)
  const check = (value: unknown) => {
    const work = new SchemaCheck(subject)
    try {
      return work.fits(node, value, '') ? undefined : work.faults.join('; ')
    } catch (err) {
      if (!(err instanceof TooCostly || err instanceof RangeError)) throw err
      return lenient ? undefined : `checking ${subject} takes too long: send less, or shorter texts`
    }
  }
  return { check, leftOut }
}

function read(schema: unknown): { node: SchemaNode; leftOut: readonly string[] } {
  const fault = faultOf(schema)
  if (fault !== undefined) return unchecked(fault)
  const reader = new SchemaReader(schema)
  try {
    return { node: reader.node(schema, ''), leftOut: reader.leftOut }
  } catch (err) {
    if (!(err instanceof RangeError)) throw err
    return unchecked('its references lead too deep')
  }
}

function unchecked(why: string) {
  return { node: { rules: [] }, leftOut: [`the schema: ${why}`] }
}

function faultOf(schema: unknown): string | undefined {
  const fault = findJsonFault(schema, MAX_SCHEMA_DEPTH)
  if (fault !== undefined) return fault
  const { length } = JSON.stringify(schema) ?? ''
  return length > MOST_CHARACTERS ? `it has more than ${MOST_CHARACTERS} characters` : undefined
}
