import AjvCompiler from '@fastify/ajv-compiler'
import { formatFaults, toFaults, type AjvError, type Fault } from '@svc/contract'
import { createIntegerReader } from '@svc/surface'
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'
import { HTTP_ERR_VALIDATION } from '../errors.ts'

/** The most faults that a reply lists. */
const MAX_FAULTS = 20
/** Beyond this many properties validation stops at the first fault. */
const MAX_PROPERTIES = 100

const build = AjvCompiler()
/**
 * The schemas are those of our own routes: that they are schemas needs no check at each start. Optimized code is not faster once V8 has
 * compiled it, and takes half as long again to make.
 */
const strict = {
  removeAdditional: false,
  coerceTypes: false,
  useDefaults: true,
  meta: false,
  validateSchema: false,
  code: { optimize: false }
} as const

const compile = (schema: object, allErrors: boolean) =>
  build({}, { customOptions: { ...strict, allErrors } })({ schema }) as Validate

/** Validates by the schemas of routes without coercion, except of integers in queries. They are compiled when a request needs them. */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  let findFirst: Validate | undefined
  let findAll: Validate | undefined
  const readIntegers = httpPart === 'querystring' ? createIntegerReader(schema) : undefined
  const validate: Validate = (data) => {
    readIntegers?.(data)
    findFirst ??= compile(schema, false)
    if (findFirst(data)) return true
    const find = isLarge(data) ? findFirst : (findAll ??= compile(schema, true))
    if (find === findAll) findAll(data)
    validate.errors = find.errors ?? null
    return false
  }
  return validate
}

type Validate = ((data: unknown) => boolean) & { errors?: FastifySchemaValidationError[] | null }

function isLarge(data: unknown): boolean {
  return typeof data === 'object' && data !== null && Object.keys(data).length > MAX_PROPERTIES
}

/** The error of a request that does not fit, with the fields that do not. */
export function formatValidationErrors(found: FastifySchemaValidationError[], part: string): Error {
  return validationError(toFieldErrors(found, part) ?? [])
}

/**
 * The faults that Ajv found in a part of a request (`body`, `querystring`, …); undefined if the list is not Ajv's, since a host
 * may have another validator.
 */
export function toFieldErrors(found: unknown, part: string): Fault[] | undefined {
  if (!isFromAjv(found)) return undefined
  return toFaults(found, part === 'querystring' ? 'query' : part, MAX_FAULTS)
}

function isFromAjv(found: unknown): found is readonly AjvError[] {
  return (
    Array.isArray(found) &&
    found.length > 0 &&
    (found as Partial<AjvError>[]).every(
      (each) =>
        typeof each?.instancePath === 'string' && typeof each.params === 'object' && each.params !== null
    )
  )
}

/** The error of a request that does not fit; its text has the first fault, its `errors` all. */
export function validationError(errors: readonly Fault[]): Error {
  return Object.assign(new HTTP_ERR_VALIDATION(formatFaults(errors.slice(0, 1))), { errors })
}
