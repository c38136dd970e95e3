import type { JSONSchema7, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { andThen, type Awaitable } from '@svc/contract'
import { RUN_ERR_BAD_AGENT, RUN_ERR_BAD_OUTPUT } from '../errors.ts'
import { readJson, toJson } from '../json/json.ts'
import {
  compileSchema,
  isRecord,
  isStandard,
  resolveRef,
  toOutputSchema,
  type PlainSchema,
  type Schema,
  type Validated
} from '../schemas/compile-schema.ts'

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
function closeObjects(root: PlainSchema): PlainSchema {
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

/** The form of an agent's answers. */
export interface OutputFormat {
  /** The JSON Schema of the structured answer. */
  readonly schema: PlainSchema
  /** For the provider's JSON mode. */
  readonly responseFormat: NonNullable<LanguageModelV4CallOptions['responseFormat']>
  /** Reads an answer: its value, validated and transformed, or its faults. */
  read(text: string): Awaitable<Validated>
  /** Asks the model to correct its answer. */
  correction(fault: string): string
}

/** @throws RUN_ERR_BAD_AGENT if `output` is not a schema */
export function createOutputFormat(output: Schema): OutputFormat {
  const { plain, validate } = compileSchema(
    output,
    'the answer',
    (fault) => new RUN_ERR_BAD_AGENT(`the output ${fault}`)
  )
  const forModel = closeObjects(plain) as JSONSchema7
  return {
    schema: toOutputSchema(output, plain),
    responseFormat: { type: 'json', schema: forModel, name: 'answer' },
    read(text) {
      const value = readJson(text)
      if (value === undefined) return { fault: 'it is no JSON' }
      const validated = validate(value)
      if (!isStandard(output)) return validated
      return andThen(validated, requireJson)
    },
    correction: (fault) =>
      `Your answer cannot be used: ${fault}. Answer again with nothing but JSON that fits this JSON Schema:\n${JSON.stringify(forModel)}`
  }
}

/** Checks the answers of one run; the model may correct an answer once. */
export class OutputCheck {
  readonly #format: OutputFormat
  #isCorrected = false
  /** The value of the valid answer. */
  value: unknown

  constructor(format: OutputFormat) {
    this.#format = format
  }

  /** The correction to ask for; undefined for a valid answer. @throws RUN_ERR_BAD_OUTPUT the second time */
  async check(text: string): Promise<string | undefined> {
    const { fault, ...valid } = await this.#format.read(text)
    if (fault === undefined) {
      this.value = (valid as { value: unknown }).value
      return undefined
    }
    if (this.#isCorrected) throw new RUN_ERR_BAD_OUTPUT(fault)
    this.#isCorrected = true
    return this.#format.correction(fault)
  }
}

// A transform may yield anything; logs and sessions take JSON.
function requireJson(validated: Validated): Validated {
  if (validated.fault !== undefined) return validated
  const name = findChanged(validated.value)
  if (name !== undefined)
    throw new RUN_ERR_BAD_OUTPUT(`the schema transforms to a ${name}, which JSON cannot carry`)
  toJson(validated.value, (fault, cause) => Object.assign(new RUN_ERR_BAD_OUTPUT(fault), { cause }))
  return validated
}

// The first object that JSON would turn into something else than its type says.
function findChanged(value: unknown, seen = new Set<object>()): string | undefined {
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined
  seen.add(value)
  const isChanged = value instanceof Map || value instanceof Set || 'toJSON' in value
  if (isChanged) return value.constructor.name
  for (const member of Object.values(value)) {
    const name = findChanged(member, seen)
    if (name !== undefined) return name
  }
  return undefined
}
