import { memberPath } from './format-faults.ts'
import { canonical, isCount, MALFORMED, type Keyword } from './keyword.ts'
import type { SchemaNode } from './schema-check.ts'

const size =
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
  minItems: size('fewer', (length, limit) => length >= limit),
  maxItems: size('more', (length, limit) => length <= limit),
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
