import { defined } from './json.ts'
import { isNativeError } from 'node:util/types'
import { Type, type Static } from '@sinclair/typebox'
import { REG_ERR_BAD_ERROR } from './errors.ts'
import { requireOptions } from './options.ts'
import { isExposed, markExposed, type ExposedError } from './create-error.ts'

const FaultSchema = Type.Object({
  code: Type.String({ pattern: '^[!-~]{1,128}$', description: 'Stable, such as ORDER_NOT_FOUND' }),
  message: Type.String(),
  statusCode: Type.Optional(Type.Integer({ minimum: 400, maximum: 599, description: 'Default 500' })),
  retryable: Type.Optional(Type.Boolean({ description: 'Default: derived from the status' })),
  retryAfter: Type.Optional(Type.Number({ minimum: 0, description: 'Seconds' }))
})

/** The part of an error that clients may see. */
export type ExposableError = Static<typeof FaultSchema>

/**
 * Makes an error visible to clients, with its code, message and status, on every surface; for any other error they see
 * RUN_ERR_FAILED only. A given error is marked and returned, so that it keeps its class and stack; a plain object becomes a
 * new error.
 * @throws REG_ERR_BAD_ERROR if there is no code or message, or the status is not an error's; its cause is the given value
 */
export function expose<F extends ExposableError>(fault: F): F & ExposedError {
  if (isExposed(fault)) return fault
  requireOptions(FaultSchema, fault, badErrorFor(fault))
  const error = (isError(fault) && Object.isExtensible(fault) ? fault : toError(fault)) as F & ExposedError
  markExposed(error)
  return error
}

function toError(fault: ExposableError): ExposedError {
  const { code, message, statusCode, retryable, retryAfter } = fault
  const error = new Error(message, isError(fault) ? { cause: fault } : undefined)
  Error.captureStackTrace(error, expose)
  return Object.assign(error, { code, ...defined({ statusCode, retryable, retryAfter }) })
}

function badErrorFor(cause: unknown): new (faults: string) => Error {
  return class extends REG_ERR_BAD_ERROR {
    constructor(faults: string) {
      super(faults, { cause })
    }
  }
}

function isError(value: unknown): value is Error {
  return isNativeError(value) || value instanceof Error
}
