import AjvCompiler from '@fastify/ajv-compiler'
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'
import { toFieldErrors, validationError } from '../errors/to-field-errors.ts'

/** Beyond this many properties validation stops at the first fault. */
const MAX_PROPERTIES = 100

const build = AjvCompiler()
const strict = { removeAdditional: false, coerceTypes: false, useDefaults: true } as const
const toFindFirst = build({}, { customOptions: { ...strict, allErrors: false } })
const toFindAll = build({}, { customOptions: { ...strict, allErrors: true } })

/** Compiles the schemas of routes without coercion, except of integers in queries. */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  const [findFirst, findAll] = [toFindFirst({ schema }), toFindAll({ schema })] as [Validate, Validate]
  const numbers = httpPart === 'querystring' ? integersOf(schema) : []
  const validate: Validate = (data) => {
    if (numbers.length > 0) toNumbers(data as Record<string, unknown>, numbers)
    const find = isLarge(data) ? findFirst : findAll
    const fits = find(data)
    validate.errors = find.errors ?? null
    return fits
  }
  return validate
}

type Validate = ((data: unknown) => boolean) & { errors?: FastifySchemaValidationError[] | null }

function isLarge(data: unknown): boolean {
  return typeof data === 'object' && data !== null && Object.keys(data).length > MAX_PROPERTIES
}

function integersOf(schema: object): string[] {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string }> }
  return Object.keys(properties).filter((name) => properties[name]?.type === 'integer')
}

// Canonical decimals only: `0x10`, `1e2` and ` 5` stay text.
function toNumbers(query: Record<string, unknown>, names: readonly string[]): void {
  for (const name of names) {
    const text = query[name]
    if (typeof text === 'string' && /^(?:0|-?[1-9]\d{0,14})$/.test(text)) query[name] = Number(text)
  }
}

/** The error of a request that does not fit, with the fields that do not. */
export function formatValidationErrors(found: FastifySchemaValidationError[], part: string): Error {
  return validationError(toFieldErrors(found, part) ?? [])
}
