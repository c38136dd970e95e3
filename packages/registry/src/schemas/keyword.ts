import type { LinearPattern } from './linear-pattern.ts'
import type { Rule, SchemaCheck, SchemaNode } from './schema-check.ts'

/** What keywords are read with. */
export interface SchemaSource {
  /**
   * Whether nothing of the document is left out: else more fits than should, and who says what must not fit, or how many must,
   * would refuse what is right.
   */
  readonly isWhole: boolean
  /** A schema within this one. */
  node(schema: unknown, where: string): SchemaNode
  /** Where a `$ref` leads; undefined when that is not within this document. */
  target(ref: string): SchemaNode | undefined
  /** A pattern, or why it cannot be used. */
  pattern(source: string): LinearPattern | string
}

/** Reads what a schema says with one keyword: the rule that it makes, or why it is left out. */
export type Keyword = (
  given: unknown,
  schema: Readonly<Record<string, unknown>>,
  source: SchemaSource
) => Rule | string

/** What a keyword is that no schema may have in this form. */
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

/** A value as a text that is the same for equal values, whatever the order of their keys. @throws TooCostly */
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
