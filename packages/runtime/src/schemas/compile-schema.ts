import type { JSONSchema7, JSONValue } from '@ai-sdk/provider'
import { Kind, type Static, type TSchema } from '@sinclair/typebox'
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import {
  faultsOfIssues,
  formatFaults,
  andThen,
  keysOf,
  toFaults,
  validateStandard,
  type Awaitable,
  type Fault,
  type RunLog,
  type StandardResult
} from '@svc/contract'
import type { compileForeignSchema, ForeignSchema } from '@svc/contract/schemas'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'

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
function toPlainSchema(schema: unknown, toError: (fault: string) => Error): PlainSchema {
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
function isTypeBox(schema: object): schema is TSchema {
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

/** A valid value after the schema's transforms, or the faults of an invalid one with their paths. */
export type Validated =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly fault: string; readonly faults?: readonly Fault[] }

/** Validates a value and never changes it; only a Standard Schema transforms, and only one may be asynchronous. */
export type Validate = (value: unknown) => Awaitable<Validated>

/** A schema, ready for use. */
export interface CompiledSchema {
  /** The JSON Schema of the values it accepts. */
  readonly plain: PlainSchema
  readonly validate: Validate
}

const AJV_OPTIONS = {
  strict: false,
  allErrors: true,
  // Else `toString` and other inherited names would count as given.
  ownProperties: true,
  logger: false,
  meta: false,
  validateSchema: false
} as const

/** Compiles a schema; faults of a whole value name it by `subject`. @throws the error `toError` makes */
export function compileSchema(
  schema: Schema,
  subject: string,
  toError: (fault: string) => Error
): CompiledSchema {
  const plain = toPlainSchema(schema, toError)
  const validate = isStandard(schema) ? validatorOf(schema, subject) : validatePlain(plain, subject, toError)
  return { plain, validate }
}

/**
 * The schema of a runnable's input: TypeBox as it is, any other as its JSON Schema with a hidden `~standard`, by which the
 * run engine validates.
 * @throws the error `toError` makes
 */
export function toInputSchema(schema: Schema, toError: (fault: string) => Error): TSchema {
  const { plain, validate } = compileSchema(schema, 'the input', toError)
  if (isTypeBox(schema)) return schema
  const standard = {
    version: 1,
    vendor: '@svc/runtime',
    validate: (value: unknown) =>
      isStandard(schema) ? validateStandard(schema, value) : toResult(validate(value) as Validated)
  }
  return Object.defineProperty(plain, '~standard', { value: standard }) as unknown as TSchema
}

function validatePlain(plain: PlainSchema, subject: string, toError: (fault: string) => Error): Validate {
  // Ajv would validate by a promise, which counts as valid.
  if ('$async' in plain) throw toError('has the keyword $async; only a Standard Schema may be asynchronous')
  try {
    // A shared instance would confuse schemas with one `$id`, and keep those of short-lived tools forever.
    const check = formats.default(new Ajv(AJV_OPTIONS)).compile(plain)
    return (value) => (check(value) ? { value } : toInvalid(toFaults(check.errors ?? []), subject))
  } catch (err) {
    throw toError(`cannot be compiled: ${(err as Error).message}`)
  }
}

function validatorOf(schema: StandardSchemaV1, subject: string): Validate {
  const settle = (result: StandardResult): Validated =>
    result.issues === undefined ? { value: result.value } : toInvalid(faultsOfIssues(result.issues), subject)
  return (value) => {
    const result = validateStandard(schema, value)
    return andThen(result, settle)
  }
}

function toInvalid(faults: readonly Fault[], subject: string): Validated {
  return { fault: formatFaults(faults, subject), faults }
}

function toResult(validated: Validated): StandardResult {
  if (validated.fault === undefined) return { value: validated.value }
  return { issues: (validated.faults ?? []).map(({ path, message }) => ({ message, path: keysOf(path) })) }
}

/** Checks values against a schema of a server, compiled on first use. */
export class ForeignCheck {
  readonly #compile: () => ForeignSchema
  #compiled: ForeignSchema | undefined
  #logged = false

  constructor(compile: typeof compileForeignSchema, ...given: Parameters<typeof compileForeignSchema>) {
    this.#compile = () => compile(...given)
  }

  /** Describes why a value does not match; undefined if it matches. */
  faultOf(value: unknown): string | undefined {
    return (this.#compiled ??= this.#compile()).check(value)
  }

  /** Logs, once, the parts of the schema that are not checked. */
  logUnchecked(log: RunLog, toolName: string): void {
    const unchecked = this.#compiled?.leftOut ?? []
    if (this.#logged || unchecked.length === 0) return
    this.#logged = true
    log.warn({ toolName, unchecked }, 'part of the schema of an MCP tool is not checked')
  }
}

/** A plain JSON Schema; it carries no types. */
export type JsonSchema = JSONSchema7 | Readonly<Record<string, unknown>>

/**
 * A schema of tool arguments, outputs and inputs: TypeBox, a plain JSON Schema, or a Standard Schema (standardschema.dev) that
 * has a JSON Schema: Zod from 4.2, ArkType from 2.1.28, Valibot through `toStandardJsonSchema` of `@valibot/to-json-schema`.
 */
export type Schema = TSchema | StandardSchemaV1 | JsonSchema

/** The values a schema accepts, before its transforms. */
export type SchemaInput<S> = S extends TSchema
  ? Static<S>
  : S extends StandardSchemaV1
    ? StandardSchemaV1.InferInput<S>
    : JSONValue

/** The values a schema yields: validated and transformed. `unknown` for `Schema` itself. */
export type SchemaOutput<S> = S extends TSchema
  ? Static<S>
  : S extends StandardSchemaV1
    ? StandardSchemaV1.InferOutput<S>
    : JSONValue

/** Tool arguments by their schema: typed by TypeBox and Standard Schemas, a record of unknown values by JSON Schema. */
export type ArgsOf<S> = S extends TSchema | StandardSchemaV1
  ? SchemaOutput<S>
  : Readonly<Record<string, unknown>>
