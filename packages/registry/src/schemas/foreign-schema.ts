import { findJsonFault } from '../contract/json-fault.ts'
import { SchemaCheck, TooCostly, type SchemaNode } from './schema-check.ts'
import { SchemaReader } from './schema-reader.ts'

/** What is wrong with a value, with the path of each fault, 5 at most; undefined when it fits. Never changes it. */
export type CheckForeign = (value: unknown) => string | undefined

/** A schema of a stranger, ready to be checked against. */
export interface ForeignSchema {
  readonly check: CheckForeign
  /** What of the schema is not checked, and why; 20 at most. */
  readonly leftOut: readonly string[]
}

/** How values are checked. */
export interface ForeignSchemaOptions {
  /** What faults of a whole value are told of; default `it`. */
  subject?: string
  /** Whether a value that costs too much to check fits all the same; default false. */
  lenient?: boolean
}

const MOST_CHARACTERS = 262_144
const MAX_DEPTH = 128

/**
 * Compiles a JSON Schema that comes from outside: of an MCP server, a client or another agent. Whatever it says, it runs no code
 * of its own, and a check of any value ends in bounded time: patterns are matched by RE2 in linear time, and what costs too
 * much is a fault. What cannot be checked, such as a pattern with look-ahead, is left out; no schema is refused.
 *
 * Draft 2020-12, with the tuples, `dependencies` and `definitions` of those before; a `$ref` leads to the same document.
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
      return lenient ? undefined : `to check ${subject} takes too long: give less, or shorter texts`
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
  const fault = findJsonFault(schema, MAX_DEPTH)
  if (fault !== undefined) return fault
  const { length } = JSON.stringify(schema) ?? ''
  return length > MOST_CHARACTERS ? `it has more than ${MOST_CHARACTERS} characters` : undefined
}
