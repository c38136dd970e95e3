import { formatFaults, MAX_FAULTS, memberPath, mustBeOneOf } from './faults.ts'
import { FORMATS } from './formats.ts'
import type { LinearPattern } from './linear-pattern.ts'

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
const MALFORMED = 'it is malformed'

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0
}

/** Serializes a value so that equal values have equal texts, regardless of key order. @throws TooCostly */
function canonical(value: unknown, check?: SchemaCheck): string {
  if (typeof value === 'string') check?.spend(8 + value.length / 4)
  else check?.spend(8)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, check)).join()}]`
  const members = Object.keys(value)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonical((value as Record<string, unknown>)[key], check)}`)
  return `{${members.join()}}`
}

const limitItems =
  (than: 'fewer' | 'more', keeps: (length: number, limit: number) => boolean): Keyword =>
  (limit) => {
    if (!isCount(limit)) return MALFORMED
    return (value, check, path) =>
      !Array.isArray(value) ||
      keeps(value.length, limit) ||
      check.fault(path, `must NOT have ${than} than ${limit} items`)
  }

// In older drafts a list, with `additionalItems` for the rest.
const items: Keyword = (given, { prefixItems, additionalItems }, source) => {
  if (Array.isArray(given)) {
    const nodes = given.map((schema, index) => source.node(schema, `items/${index}`))
    return eachItem(
      nodes,
      additionalItems === undefined ? ANY : source.node(additionalItems, 'additionalItems')
    )
  }
  if (prefixItems !== undefined && !Array.isArray(prefixItems))
    return 'the prefixItems beside it are malformed'
  const before = prefixItems?.length ?? 0
  return eachItem(
    Array.from({ length: before }, () => ANY),
    source.node(given, 'items')
  )
}

const prefixItems: Keyword = (given, _schema, source) => {
  if (!Array.isArray(given)) return MALFORMED
  return eachItem(
    given.map((schema, index) => source.node(schema, `prefixItems/${index}`)),
    ANY
  )
}

const uniqueItems: Keyword = (given) => {
  if (typeof given !== 'boolean') return MALFORMED
  return (value, check, path) => {
    if (!given || !Array.isArray(value)) return true
    const seen = new Set(value.map((item) => canonical(item, check)))
    return seen.size === value.length || check.fault(path, 'must NOT have duplicate items')
  }
}

const contains: Keyword = (given, { minContains, maxContains }, source) => {
  const node = source.node(given, 'contains')
  const least = isCount(minContains) ? minContains : 1
  const most = isCount(maxContains) ? maxContains : Infinity
  return (value, check, path) => {
    if (!Array.isArray(value)) return true
    const count = value.filter(
      (item, index) => check.attempt(node, item, memberPath(path, index)).fits
    ).length
    if (count >= least && (count <= most || !source.isWhole)) return true
    const range = most === Infinity ? `at least ${least}` : `${least} to ${most}`
    return check.fault(path, `must contain ${range} valid item(s)`)
  }
}

/** The keywords for arrays. */
export const ARRAY_KEYWORDS: Readonly<Record<string, Keyword>> = {
  minItems: limitItems('fewer', (length, limit) => length >= limit),
  maxItems: limitItems('more', (length, limit) => length <= limit),
  items,
  prefixItems,
  uniqueItems,
  contains
}

const ANY: SchemaNode = { rules: [] }

function eachItem(first: readonly SchemaNode[], others: SchemaNode): ReturnType<Keyword> {
  return (value, check, path) => {
    if (!Array.isArray(value)) return true
    let fits = true
    for (const [index, item] of value.entries())
      if (!check.fits(first[index] ?? others, item, memberPath(path, index))) fits = false
    return fits
  }
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: isRecord
}

const type: Keyword = (given, { nullable }) => {
  const names = typeof given === 'string' ? [given] : given
  if (!isTexts(names) || names.length === 0 || !names.every((name) => Object.hasOwn(TYPES, name)))
    return MALFORMED
  const tests = names.map((name) => TYPES[name]!)
  return (value, check, path) =>
    tests.some((isOfType) => isOfType(value)) ||
    // OpenAPI 3.0.
    (nullable === true && value === null) ||
    check.fault(path, `must be ${names.join(',')}`)
}

const oneOfValues: Keyword = (values) => {
  if (!Array.isArray(values)) return MALFORMED
  const known = new Set(values.map((each) => canonical(each)))
  const message = mustBeOneOf(values).slice(0, 1_000)
  return (value, check, path) => known.has(canonical(value, check)) || check.fault(path, message)
}

const constant: Keyword = (given) => {
  const known = canonical(given)
  return (value, check, path) =>
    canonical(value, check) === known ||
    check.fault(path, `must be equal to constant: ${known.slice(0, 1_000)}`)
}

const allOf: Keyword = (given, _schema, source) => {
  const nodes = nodesOf(given, 'allOf', source)
  if (nodes === undefined) return MALFORMED
  return (value, check, path) => {
    let fits = true
    for (const node of nodes) if (!check.fits(node, value, path)) fits = false
    return fits
  }
}

const anyOf: Keyword = (given, _schema, source) => {
  const nodes = nodesOf(given, 'anyOf', source)
  if (nodes === undefined) return MALFORMED
  return (value, check, path) => {
    const faults: string[] = []
    for (const node of nodes) {
      const attempt = check.attempt(node, value, path)
      if (attempt.fits) return true
      faults.push(...attempt.faults)
    }
    check.note(faults)
    return check.fault(path, 'must match a schema in anyOf')
  }
}

const oneOf: Keyword = (given, _schema, source) => {
  const nodes = nodesOf(given, 'oneOf', source)
  if (nodes === undefined) return MALFORMED
  return (value, check, path) => {
    const attempts = nodes.map((node) => check.attempt(node, value, path))
    const count = attempts.filter(({ fits }) => fits).length
    if (count === 1 || (count > 1 && !source.isWhole)) return true
    if (count === 0) check.note(attempts.flatMap(({ faults }) => faults))
    return check.fault(path, 'must match exactly one schema in oneOf')
  }
}

const not: Keyword = (given, _schema, source) => {
  const node = source.node(given, 'not')
  return (value, check, path) =>
    !source.isWhole || !check.attempt(node, value, path).fits || check.fault(path, 'must NOT be valid')
}

const conditional: Keyword = (given, schema, source) => {
  const condition = source.node(given, 'if')
  const branchOf = (name: 'then' | 'else') =>
    schema[name] === undefined ? undefined : source.node(schema[name], name)
  const whenTrue = branchOf('then')
  const whenFalse = branchOf('else')
  return (value, check, path) => {
    if (!source.isWhole) return true
    const branch = check.attempt(condition, value, path).fits ? whenTrue : whenFalse
    return branch === undefined || check.fits(branch, value, path)
  }
}

const reference: Keyword = (given, _schema, source) => {
  if (typeof given !== 'string') return MALFORMED
  const node = source.target(given)
  if (node === undefined) return 'it has no target within the schema'
  return (value, check, path) => check.fits(node, value, path)
}

const unsupported: Keyword = () => 'it is not supported'

/** The keywords for values of any type. */
export const GENERAL_KEYWORDS: Readonly<Record<string, Keyword>> = {
  type,
  enum: oneOfValues,
  const: constant,
  allOf,
  anyOf,
  oneOf,
  not,
  if: conditional,
  $ref: reference,
  $dynamicRef: unsupported,
  $recursiveRef: unsupported,
  unevaluatedItems: unsupported,
  unevaluatedProperties: unsupported
}

function nodesOf(given: unknown, where: string, source: SchemaSource): SchemaNode[] | undefined {
  if (!Array.isArray(given)) return undefined
  return given.map((schema, index) => source.node(schema, `${where}/${index}`))
}

const limitProperties =
  (than: 'fewer' | 'more', keeps: (count: number, limit: number) => boolean): Keyword =>
  (limit) => {
    if (!isCount(limit)) return MALFORMED
    return (value, check, path) =>
      !isRecord(value) ||
      keeps(keysOf(value, check).length, limit) ||
      check.fault(path, `must NOT have ${than} than ${limit} properties`)
  }

const required: Keyword = (names) => {
  // Before draft 4 it was a boolean on the property itself.
  if (!isTexts(names)) return MALFORMED
  return (value, check, path) => !isRecord(value) || hasAll(value, names, check, path)
}

const properties: Keyword = (given, _schema, source) => {
  const nodes = namedNodesOf(given, 'properties', source)
  if (nodes === undefined) return MALFORMED
  return (value, check, path) => {
    if (!isRecord(value)) return true
    check.spend(nodes.length)
    let fits = true
    for (const [name, node] of nodes)
      if (Object.hasOwn(value, name) && !check.fits(node, value[name], memberPath(path, name))) fits = false
    return fits
  }
}

const patternProperties: Keyword = (given, _schema, source) => {
  const nodes = namedNodesOf(given, 'patternProperties', source)
  if (nodes === undefined) return MALFORMED
  const byPattern = nodes.flatMap(([name, node]): [LinearPattern, SchemaNode][] => {
    const pattern = source.pattern(name)
    return typeof pattern === 'string' ? [] : [[pattern, node]]
  })
  if (byPattern.length < nodes.length) return 'a pattern cannot be used'
  return (value, check, path) => {
    if (!isRecord(value)) return true
    let fits = true
    for (const key of keysOf(value, check))
      for (const [pattern, node] of byPattern)
        if (matches(pattern, key, check) && !check.fits(node, value[key], memberPath(path, key))) fits = false
    return fits
  }
}

const additionalProperties: Keyword = (given, schema, source) => {
  const node = source.node(given, 'additionalProperties')
  const { properties: named = {}, patternProperties: others = {} } = schema
  if (!isRecord(named) || !isRecord(others)) return 'the properties beside it are malformed'
  const known = new Set(Object.keys(named))
  const patterns = Object.keys(others).map((each) => source.pattern(each))
  // Without the pattern, additional properties cannot be determined.
  if (patterns.some((each) => typeof each === 'string')) return 'a pattern beside it cannot be used'
  const usable = patterns as LinearPattern[]
  return (value, check, path) => {
    if (!isRecord(value)) return true
    let fits = true
    for (const key of keysOf(value, check)) {
      if (known.has(key) || usable.some((pattern) => matches(pattern, key, check))) continue
      if (given === false) fits = check.fault(memberPath(path, key), 'is not known')
      else if (!check.fits(node, value[key], memberPath(path, key))) fits = false
    }
    return fits
  }
}

const propertyNames: Keyword = (given, _schema, source) => {
  const node = source.node(given, 'propertyNames')
  return (value, check, path) => {
    if (!isRecord(value)) return true
    let fits = true
    for (const key of keysOf(value, check)) {
      if (check.attempt(node, key, path).fits) continue
      fits = check.fault(path, `must NOT have the property name ${JSON.stringify(key.slice(0, 64))}`)
    }
    return fits
  }
}

// Names, or a schema; `dependencies` of older drafts allows both.
const dependent: Keyword = (given, _schema, source) => {
  if (!isRecord(given)) return MALFORMED
  const needs = Object.entries(given).map(([name, need]) =>
    isTexts(need) ? ([name, need] as const) : ([name, source.node(need, `dependent/${name}`)] as const)
  )
  return (value, check, path) => {
    if (!isRecord(value)) return true
    check.spend(needs.length)
    let fits = true
    for (const [name, need] of needs) {
      if (!Object.hasOwn(value, name)) continue
      if (!('rules' in need ? check.fits(need, value, path) : hasAll(value, need, check, path))) fits = false
    }
    return fits
  }
}

/** The keywords for objects. */
export const OBJECT_KEYWORDS: Readonly<Record<string, Keyword>> = {
  minProperties: limitProperties('fewer', (count, limit) => count >= limit),
  maxProperties: limitProperties('more', (count, limit) => count <= limit),
  required,
  properties,
  patternProperties,
  additionalProperties,
  propertyNames,
  dependencies: dependent,
  dependentRequired: dependent,
  dependentSchemas: dependent
}

function namedNodesOf(
  given: unknown,
  where: string,
  source: SchemaSource
): [string, SchemaNode][] | undefined {
  if (!isRecord(given)) return undefined
  return Object.entries(given).map(([name, schema]) => [name, source.node(schema, `${where}/${name}`)])
}

function keysOf(value: object, check: SchemaCheck): string[] {
  const keys = Object.keys(value)
  check.spend(keys.length)
  return keys
}

function matches(pattern: LinearPattern, key: string, check: SchemaCheck): boolean {
  check.spend(pattern.costOf(key))
  return pattern.test(key)
}

function hasAll(value: object, names: readonly string[], check: SchemaCheck, path: string): boolean {
  check.spend(names.length)
  let has = true
  for (const name of names)
    if (!Object.hasOwn(value, name)) has = check.fault(memberPath(path, name), 'is required')
  return has
}

/** A bound on a number. */
const bound =
  (sign: string, keeps: (value: number, limit: number) => boolean): Keyword =>
  (limit) => {
    if (typeof limit !== 'number') return MALFORMED
    return (value, check, path) =>
      typeof value !== 'number' || keeps(value, limit) || check.fault(path, `must be ${sign} ${limit}`)
  }

/** A bound on the length of a text, in characters. */
const length =
  (than: 'fewer' | 'more'): Keyword =>
  (limit) => {
    if (!isCount(limit)) return MALFORMED
    return (value, check, path) => {
      if (typeof value !== 'string') return true
      const isLonger = hasMore(value, than === 'more' ? limit : limit - 1, check)
      return (
        isLonger === (than === 'fewer') || check.fault(path, `must NOT have ${than} than ${limit} characters`)
      )
    }
  }

const multipleOf: Keyword = (divisor) => {
  if (typeof divisor !== 'number' || divisor <= 0) return MALFORMED
  return (value, check, path) =>
    typeof value !== 'number' ||
    isMultiple(value, divisor) ||
    check.fault(path, `must be multiple of ${divisor}`)
}

const pattern: Keyword = (given, _schema, source) => {
  if (typeof given !== 'string') return MALFORMED
  const compiled = source.pattern(given)
  if (typeof compiled === 'string') return compiled
  return (value, check, path) => {
    if (typeof value !== 'string') return true
    check.spend(compiled.costOf(value))
    return compiled.test(value) || check.fault(path, `must match pattern ${JSON.stringify(given)}`)
  }
}

// Unknown formats are ignored.
const format: Keyword = (name) => {
  if (typeof name !== 'string') return MALFORMED
  const isOfFormat = FORMATS.get(name)
  if (isOfFormat === undefined) return () => true
  return (value, check, path) => {
    if (typeof value !== 'string') return true
    check.spend(value.length / 4)
    return isOfFormat(value) || check.fault(path, `must match format ${JSON.stringify(name)}`)
  }
}

/** The keywords for numbers and texts. */
export const SCALAR_KEYWORDS: Readonly<Record<string, Keyword>> = {
  minimum: bound('>=', (value, limit) => value >= limit),
  maximum: bound('<=', (value, limit) => value <= limit),
  exclusiveMinimum: bound('>', (value, limit) => value > limit),
  exclusiveMaximum: bound('<', (value, limit) => value < limit),
  multipleOf,
  minLength: length('fewer'),
  maxLength: length('more'),
  pattern,
  format
}

// The quotient of decimal fractions is only close to an integer: 0.3 / 0.1.
function isMultiple(value: number, divisor: number): boolean {
  const quotient = value / divisor
  return Number.isInteger(quotient) || Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.abs(quotient)
}

// Counts code points, each of which has one or two UTF-16 units.
function hasMore(text: string, limit: number, check: SchemaCheck): boolean {
  if (text.length <= limit || text.length > 2 * limit) return text.length > limit
  check.spend(text.length)
  let count = 0
  for (const _ of text) count++
  return count > limit
}

/** The budget of a check. A step takes a tenth of a microsecond at most, so any check ends within a fraction of a second. */
const STEPS = 2_000_000
const STEPS_PER_SCHEMA = 16
const MAX_CHECK_DEPTH = 500

/** Thrown if a check exceeds its budget. */
export class TooCostly extends Error {}

/** Checks a value against one keyword of a schema; records the fault if it does not fit. */
export type Rule = (value: unknown, check: SchemaCheck, path: string) => boolean

/** A compiled schema; a value fits if all rules hold. */
export interface SchemaNode {
  readonly rules: readonly Rule[]
}

/** One check of one value: the remaining budget, and the faults found. */
export class SchemaCheck {
  readonly #subject: string
  #steps = STEPS
  #depth = 0
  #faults: string[] = []

  /** @param subject the name of the whole value in faults */
  constructor(subject: string) {
    this.#subject = subject
  }

  get faults(): readonly string[] {
    return this.#faults
  }

  /** Spends steps of the budget. @throws TooCostly */
  spend(steps: number): void {
    this.#steps -= steps
    if (this.#steps < 0) throw new TooCostly()
  }

  /** True if a value fits a schema. @throws TooCostly */
  fits({ rules }: SchemaNode, value: unknown, path: string): boolean {
    this.spend(STEPS_PER_SCHEMA)
    if (++this.#depth > MAX_CHECK_DEPTH) throw new TooCostly()
    let fits = true
    for (const rule of rules) if (!rule(value, this, path)) fits = false
    this.#depth--
    return fits
  }

  /** Checks without recording: returns the faults instead. */
  attempt(node: SchemaNode, value: unknown, path: string): { fits: boolean; faults: readonly string[] } {
    const before = this.#faults
    this.#faults = []
    const fits = this.fits(node, value, path)
    const faults = this.#faults
    this.#faults = before
    return { fits, faults }
  }

  /** Records a fault and returns false, for the rule that found it. */
  fault(path: string, message: string): false {
    if (this.#faults.length < MAX_FAULTS) this.#faults.push(formatFaults([{ path, message }], this.#subject))
    return false
  }

  note(faults: readonly string[]): void {
    this.#faults.push(...faults.slice(0, MAX_FAULTS - this.#faults.length))
  }
}
