import type { FastifySchemaValidationError } from 'fastify'
import type { ErrorBody } from '../schemas/error-body.ts'

type FieldErrors = NonNullable<ErrorBody['errors']>
type Found = FastifySchemaValidationError

/** What a client is told at most. */
const MAX_FAULTS = 20
/** Of a key that it sent, in characters. */
const MAX_KEY_LENGTH = 100

/**
 * What Ajv found wrong in a part of a request (`body`, `querystring`, …), by field: undefined where it is no list of Ajv's, as a
 * host may have another validator.
 */
export function toFieldErrors(found: unknown, part: string): FieldErrors | undefined {
  if (!isFromAjv(found)) return undefined
  // Of a choice of literals Ajv tells every one that did not match, and then that none did: that is one error.
  const choices = new Set(found.filter(({ keyword }) => keyword === 'anyOf').map((each) => each.instancePath))
  const faults = new Map<string, FieldErrors[number]>()
  for (const each of found) {
    if (each.keyword !== 'anyOf' && choices.has(each.instancePath)) continue
    const fault = toFieldError(each, part === 'querystring' ? 'query' : part, found)
    if (!faults.has(fault.path)) faults.set(fault.path, fault)
    if (faults.size === MAX_FAULTS) break
  }
  return [...faults.values()]
}

function isFromAjv(found: unknown): found is readonly Found[] {
  return (
    Array.isArray(found) &&
    found.length > 0 &&
    (found as Partial<Found>[]).every(
      (each) =>
        typeof each?.instancePath === 'string' && typeof each.params === 'object' && each.params !== null
    )
  )
}

function toFieldError(
  { keyword, instancePath, params, message = 'does not fit' }: Found,
  part: string,
  found: readonly Found[]
): FieldErrors[number] {
  const path = `${part}${instancePath}`
  switch (keyword) {
    case 'required':
      return { path: `${path}/${String(params['missingProperty'])}`, message: 'is required' }
    case 'additionalProperties':
      return { path: `${path}/${cut(String(params['additionalProperty']))}`, message: 'is not known' }
    case 'anyOf': {
      const options = found.filter((each) => each.keyword !== 'anyOf' && each.instancePath === instancePath)
      if (!options.every((each) => each.keyword === 'const')) return { path, message }
      return {
        path,
        message: `must be one of ${options.map((each) => each.params['allowedValue']).join(', ')}`
      }
    }
    default:
      return { path, message }
  }
}

function cut(key: string): string {
  return key.length > MAX_KEY_LENGTH ? `${key.slice(0, MAX_KEY_LENGTH)}…` : key
}
