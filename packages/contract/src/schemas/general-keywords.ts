import { mustBeOneOf } from './format-faults.ts'
import { canonical, isRecord, isTexts, MALFORMED, type Keyword, type SchemaSource } from './keyword.ts'
import type { SchemaNode } from './schema-check.ts'

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
