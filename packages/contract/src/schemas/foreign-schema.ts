import { findJsonFault } from '../json-fault.ts'
import { SchemaCheck, TooCostly, type SchemaNode } from './schema-check.ts'
import { SchemaReader } from './schema-reader.ts'

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
const MAX_DEPTH = 128

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
  const fault = findJsonFault(schema, MAX_DEPTH)
  if (fault !== undefined) return fault
  const { length } = JSON.stringify(schema) ?? ''
  return length > MOST_CHARACTERS ? `it has more than ${MOST_CHARACTERS} characters` : undefined
}
