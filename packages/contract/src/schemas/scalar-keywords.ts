import { FORMATS } from './formats.ts'
import { isCount, MALFORMED, type Keyword } from './keyword.ts'
import type { SchemaCheck } from './schema-check.ts'

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
