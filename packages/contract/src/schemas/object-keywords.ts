import { isCount, isRecord, isTexts, MALFORMED, type Keyword, type SchemaSource } from './keyword.ts'
import type { LinearPattern } from './linear-pattern.ts'
import { memberPath } from './format-faults.ts'
import type { SchemaCheck, SchemaNode } from './schema-check.ts'

const size =
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
  const nodes = nodesOf(given, 'properties', source)
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
  const nodes = nodesOf(given, 'patternProperties', source)
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
  minProperties: size('fewer', (count, limit) => count >= limit),
  maxProperties: size('more', (count, limit) => count <= limit),
  required,
  properties,
  patternProperties,
  additionalProperties,
  propertyNames,
  dependencies: dependent,
  dependentRequired: dependent,
  dependentSchemas: dependent
}

function nodesOf(given: unknown, where: string, source: SchemaSource): [string, SchemaNode][] | undefined {
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
