import { Kind, type TSchema } from '@sinclair/typebox'
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'

/** JSON Schema as plain data. */
export type PlainSchema = Record<string, unknown>

const KEYWORDS = new Set(
  (
    '$id $schema $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $vocabulary $comment $defs id definitions ' +
    'title description default examples deprecated readOnly writeOnly type nullable enum const format discriminator ' +
    'allOf anyOf oneOf not if then else properties patternProperties additionalProperties required propertyNames ' +
    'minProperties maxProperties dependencies dependentRequired dependentSchemas unevaluatedProperties ' +
    'items prefixItems additionalItems contains minContains maxContains minItems maxItems uniqueItems unevaluatedItems ' +
    'minLength maxLength pattern contentEncoding contentMediaType contentSchema ' +
    'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf'
  ).split(' ')
)
const EXPECTED = 'expected TypeBox, JSON Schema, or a Standard Schema such as Zod, Valibot or ArkType'
const NO_JSON_SCHEMA =
  'has no JSON Schema: Zod has one from 4.2 and ArkType from 2.1.28; wrap Valibot in toStandardJsonSchema of @valibot/to-json-schema'
const TARGET = { target: 'draft-07' } as const
/** Keywords beside a reference that do not restrict the value. */
const BESIDE_REF = new Set([
  '$schema',
  '$id',
  '$comment',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
  'examples'
])

/**
 * The JSON Schema, draft 7, of the values a schema accepts.
 * @throws the error `toError` makes, for anything that is not a schema or has no JSON Schema
 */
export function toPlainSchema(schema: unknown, toError: (fault: string) => Error): PlainSchema {
  if (isStandard(schema)) {
    const { jsonSchema } = schema['~standard'] as Partial<StandardJSONSchemaV1.Props>
    if (jsonSchema === undefined) throw toError(NO_JSON_SCHEMA)
    try {
      return inlineRoot(copyOf(jsonSchema.input(TARGET)))
    } catch (err) {
      throw toError(`has no JSON Schema: ${err instanceof Error ? err.message : String(err)}`)
    }
  }
  const fault = findFault(schema)
  if (fault !== undefined) throw toError(fault)
  try {
    return inlineRoot(copyOf(schema))
  } catch (err) {
    throw toError(`is not JSON: ${(err as Error).message}`)
  }
}

/** The JSON Schema of the values a valid schema yields; any value where its transforms have none. */
export function toOutputSchema(schema: unknown, accepted: PlainSchema): PlainSchema {
  if (!isStandard(schema)) return accepted
  try {
    const { jsonSchema } = schema['~standard'] as Partial<StandardJSONSchemaV1.Props>
    return inlineRoot(copyOf(jsonSchema?.output(TARGET)))
  } catch {
    return {}
  }
}

/** True for TypeBox schemas. */
export function isTypeBox(schema: object): schema is TSchema {
  return Kind in schema
}

/** True for Standard Schemas; those of ArkType are functions. */
export function isStandard(schema: unknown): schema is StandardSchemaV1 {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false
  const { '~standard': standard } = schema as Partial<StandardSchemaV1>
  return typeof standard?.validate === 'function'
}

function findFault(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return `is not a schema; ${EXPECTED}`
  if (isTypeBox(schema)) return undefined
  if ('_zod' in schema || '_def' in schema) return NO_JSON_SCHEMA
  const keys = Object.keys(schema)
  if (keys.length === 0 || keys.some((key) => KEYWORDS.has(key))) return undefined
  return `has no keyword of JSON Schema; ${EXPECTED}`
}

function copyOf(schema: unknown): PlainSchema {
  return JSON.parse(JSON.stringify(schema)) as PlainSchema
}

/** Replaces a reference at the root, as recursive schemas have it, by its definition: providers need the type at the root. */
export function inlineRoot(schema: PlainSchema): PlainSchema {
  const { $ref: first, ...beside } = schema
  if (typeof first !== 'string' || !Object.keys(beside).every((key) => BESIDE_REF.has(key))) return schema
  const seen = new Set<unknown>()
  let target: unknown = schema
  while (isRecord(target) && typeof target['$ref'] === 'string') {
    if (seen.has(target)) return schema
    seen.add(target)
    target = resolveRef(schema, target['$ref'])
  }
  if (!isRecord(target)) return schema
  // The definition keeps its id.
  const { $id: _$id, id: _id, ...inlined } = target
  return { ...inlined, ...beside }
}

const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'])

/** A schema for models: providers take no `true` and `false` in the place of a schema, except for additional properties. */
export function toModelSchema(schema: PlainSchema): PlainSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (MAPS.has(keyword) && isRecord(value))
        return [
          keyword,
          Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toSubschema(each)]))
        ]
      if (LISTS.has(keyword) && Array.isArray(value)) return [keyword, value.map(toSubschema)]
      if (keyword === 'items' || keyword === 'not' || keyword === 'contains')
        return [keyword, toSubschema(value)]
      return [keyword, keyword === 'additionalProperties' && isRecord(value) ? toModelSchema(value) : value]
    })
  )
}

function toSubschema(schema: unknown): unknown {
  if (typeof schema === 'boolean') return schema ? {} : { not: {} }
  return isRecord(schema) ? toModelSchema(schema) : schema
}

/** The schema that a reference within a schema refers to, by a JSON pointer or by the `$id` of a definition. */
export function resolveRef(root: PlainSchema, ref: string): unknown {
  if (!ref.startsWith('#')) {
    const definitions = [root['$defs'], root['definitions']]
      .filter(isRecord)
      .flatMap((each) => Object.values(each))
    return definitions.find((each) => isRecord(each) && each['$id'] === ref)
  }
  let target: unknown = root
  for (const name of ref.split('/').slice(1)) {
    const key = decode(name).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) return undefined
    target = (target as Record<string, unknown>)[key]
  }
  return target
}

/** True for an object that is not a list. */
export function isRecord(value: unknown): value is PlainSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
