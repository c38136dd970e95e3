import AjvCompiler from '@fastify/ajv-compiler'
import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify'
import { HTTP_ERR_VALIDATION } from './errors.ts'
import type { ErrorBody } from './schemas/error-body.ts'

const build = AjvCompiler()
const shared = { removeAdditional: false, allErrors: false } as const
const strict = build({}, { customOptions: { ...shared, coerceTypes: false, useDefaults: false } })
const lenient = build({}, { customOptions: { ...shared, coerceTypes: true, useDefaults: true } })

/** Compiles the schemas of routes: bodies must fit as they are, the text of queries may become numbers. */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) =>
  (httpPart === 'body' ? strict : lenient)({ schema })

type FieldErrors = NonNullable<ErrorBody['errors']>

/** The error of a request that does not fit, with the fields that do not. */
export function formatValidationErrors(found: FastifySchemaValidationError[], part: string): Error {
  const errors = toFieldErrors(found, part === 'querystring' ? 'query' : part)
  const [first] = errors
  return Object.assign(new HTTP_ERR_VALIDATION(`${first?.path} ${first?.message}`), { errors })
}

// Of a choice of literals Ajv tells every one that did not match, and then that none did: that is one error.
function toFieldErrors(found: FastifySchemaValidationError[], part: string): FieldErrors {
  const choices = new Set(found.filter(({ keyword }) => keyword === 'anyOf').map((each) => each.instancePath))
  return found
    .filter(({ keyword, instancePath }) => keyword === 'anyOf' || !choices.has(instancePath))
    .map((each) => toFieldError(each, part, found))
}

function toFieldError(
  { keyword, instancePath, params, message = 'does not fit' }: FastifySchemaValidationError,
  part: string,
  found: FastifySchemaValidationError[]
): FieldErrors[number] {
  const path = `${part}${instancePath}`
  switch (keyword) {
    case 'required':
      return { path: `${path}/${String(params['missingProperty'])}`, message: 'is required' }
    case 'additionalProperties':
      return { path: `${path}/${String(params['additionalProperty'])}`, message: 'is not known' }
    case 'anyOf': {
      const allowed = found.filter((each) => each.keyword === 'const' && each.instancePath === instancePath)
      return {
        path,
        message: `must be one of ${allowed.map((each) => each.params['allowedValue']).join(', ')}`
      }
    }
    default:
      return { path, message }
  }
}
