import type { LinearPattern } from './linear-pattern.ts'
import type { Rule, SchemaCheck, SchemaNode } from './schema-check.ts'

/** The parts of a schema reader that keywords need. */
export interface SchemaSource {
  /**
   * True if nothing of the document is left out. Otherwise subschemas accept too much, so that negations and counts (`not`,
   * `oneOf`, `maxContains`) would refuse valid values.
   */
  readonly isWhole: boolean
  /** Compiles a subschema. */
  node(schema: unknown, where: string): SchemaNode
  /** The target of a `$ref`; undefined if it is not within this document. */
  target(ref: string): SchemaNode | undefined
  /** Compiles a pattern, or returns why it cannot be used. */
  pattern(source: string): LinearPattern | string
}

/** Compiles one keyword of a schema to a rule, or returns why it is left out. */
export type Keyword = (
  given: unknown,
  schema: Readonly<Record<string, unknown>>,
  source: SchemaSource
) => Rule | string

/** The reason for a keyword with an invalid value. */
export const MALFORMED = 'it is malformed'

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

export function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0
}

/** Serializes a value so that equal values have equal texts, regardless of key order. @throws TooCostly */
export function canonical(value: unknown, check?: SchemaCheck): string {
  if (typeof value === 'string') check?.spend(8 + value.length / 4)
  else check?.spend(8)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, check)).join()}]`
  const members = Object.keys(value)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonical((value as Record<string, unknown>)[key], check)}`)
  return `{${members.join()}}`
}
