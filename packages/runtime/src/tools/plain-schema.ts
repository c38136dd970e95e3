import type { JSONSchema7 } from '@ai-sdk/provider'
import { Kind } from '@sinclair/typebox'

/** A plain JSON Schema; nothing is known of the type of what fits it. */
export type JsonSchema = JSONSchema7 | Readonly<Record<string, unknown>>

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
const EXPECTED = 'give a TypeBox schema or a plain JSON Schema'

/**
 * A schema as plain JSON: of TypeBox, or a JSON Schema, which is empty or has a keyword.
 * @throws what `toError` makes of the fault, when it is neither
 */
export function toPlainSchema(schema: unknown, toError: (fault: string) => Error): Record<string, unknown> {
  const fault = findFault(schema)
  if (fault !== undefined) throw toError(fault)
  return JSON.parse(JSON.stringify(schema)) as Record<string, unknown>
}

/** Whether a value is made by TypeBox. */
export function isTypeBox(schema: object): boolean {
  return Kind in schema
}

function findFault(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return `is no object; ${EXPECTED}`
  if (isTypeBox(schema)) return undefined
  if (isValidator(schema))
    return `is a schema of a validation library; ${EXPECTED}, of Zod 4 z.toJSONSchema(schema)`
  const keys = Object.keys(schema)
  if (keys.length === 0 || keys.some((key) => KEYWORDS.has(key))) return undefined
  return `has no keyword of JSON Schema; ${EXPECTED}`
}

// A JSON Schema that Zod makes has a hidden `~standard` too, on a plain object.
function isValidator(schema: object): boolean {
  if ('_zod' in schema || '_def' in schema || Object.keys(schema).includes('~standard')) return true
  return '~standard' in schema && Object.getPrototypeOf(schema) !== Object.prototype
}
