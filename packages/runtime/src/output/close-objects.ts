import { isRecord, resolveRef, type PlainSchema } from '../schemas/plain-schema.ts'

// Keywords whose values are data, and those whose members have names of their own.
const DATA = new Set(['const', 'enum', 'default', 'examples'])
const MAPS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies'
])
/** Keywords whose schemas apply to the same value together. */
const COMBINING = ['allOf', 'not', 'if', 'then', 'else', 'dependentSchemas', 'dependencies']

/**
 * Copies a schema so that its objects exclude other properties, as strict JSON modes require. Objects of an intersection stay
 * open, because each member would exclude the properties of the others.
 */
export function closeObjects(root: PlainSchema): PlainSchema {
  const open = openSchemas(root)
  const close = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(close)
    if (!isRecord(schema)) return schema
    const closed = Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [key, mapSchemas(key, value, close)])
    )
    if (schema['type'] === 'object' && schema['properties'] !== undefined && !open.has(schema))
      closed['additionalProperties'] ??= false
    return closed
  }
  return close(root) as PlainSchema
}

function mapSchemas(key: string, value: unknown, map: (schema: unknown) => unknown): unknown {
  if (DATA.has(key)) return value
  if (!MAPS.has(key) || !isRecord(value)) return map(value)
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, map(schema)]))
}

// The schemas below an intersection, also those it refers to.
function openSchemas(root: PlainSchema): ReadonlySet<unknown> {
  const open = new Set<unknown>()
  const seen = new Set<unknown>()
  const visit = (schema: unknown, isWithin: boolean): void => {
    if (Array.isArray(schema)) return schema.forEach((each) => visit(each, isWithin))
    if (!isRecord(schema)) return
    const isOpen = isWithin || combines(schema)
    const visited = isOpen ? open : seen
    if (visited.has(schema)) return
    visited.add(schema)
    if (isOpen && typeof schema['$ref'] === 'string') visit(resolveRef(root, schema['$ref']), true)
    for (const [key, value] of Object.entries(schema))
      mapSchemas(key, value, (child) => visit(child, isOpen && key !== '$defs' && key !== 'definitions'))
  }
  visit(root, false)
  return open
}

function combines(schema: PlainSchema): boolean {
  if (COMBINING.some((key) => key in schema)) return true
  return 'properties' in schema && ['anyOf', 'oneOf', '$ref'].some((key) => key in schema)
}
