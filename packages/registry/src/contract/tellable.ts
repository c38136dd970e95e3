import { isNativeError } from 'node:util/types'
import { Type, type Static } from '@sinclair/typebox'
import { REG_ERR_BAD_ERROR } from '../errors.ts'
import { requireOptions } from '../options.ts'
import { isTellable, markTellable, type TellableError } from './create-error.ts'

const FaultSchema = Type.Object({
  code: Type.String({ pattern: '^[!-~]{1,128}$', description: 'Stable, such as ORDER_NOT_FOUND' }),
  message: Type.String(),
  statusCode: Type.Optional(Type.Integer({ minimum: 400, maximum: 599, description: 'Default 500' })),
  retryable: Type.Optional(Type.Boolean({ description: 'Default: what the status says' })),
  retryAfter: Type.Optional(Type.Number({ minimum: 0, description: 'Seconds' }))
})

/** What clients may be told of an error. */
export type TellableFault = Static<typeof FaultSchema>

/**
 * Makes an error one that clients see as it is, with its code, message and status, over every surface; of any other error
 * they see RUN_ERR_FAILED only. An error that is given is marked and given back, so that its class and its stack stay; an
 * object becomes a new error.
 * @throws REG_ERR_BAD_ERROR for what has no code or message, or a status that is none of an error; its cause is what was given
 */
export function tellable<F extends TellableFault>(fault: F): F & TellableError {
  if (isTellable(fault)) return fault
  requireOptions(FaultSchema, fault, badErrorFor(fault))
  const error = (isError(fault) && Object.isExtensible(fault) ? fault : toError(fault)) as F & TellableError
  markTellable(error)
  return error
}

function toError(fault: TellableFault): TellableError {
  const { code, message, statusCode, retryable, retryAfter } = fault
  const error = new Error(message, isError(fault) ? { cause: fault } : undefined)
  Error.captureStackTrace(error, tellable)
  return Object.assign(error, {
    code,
    ...(statusCode !== undefined && { statusCode }),
    ...(retryable !== undefined && { retryable }),
    ...(retryAfter !== undefined && { retryAfter })
  })
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
