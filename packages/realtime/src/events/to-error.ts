import { isTellable, toStoredError } from '@svc/contract'
import { RT_ERR_INTERNAL } from '../errors.ts'
import { ProtocolError } from './protocol-error.ts'

/** An error as clients see it, and its status over HTTP. */
export interface ClientError {
  readonly type: 'invalid_request_error' | 'server_error'
  readonly code: string
  readonly message: string
  readonly param: string | null
  readonly statusCode: number
}

/** Converts any thrown value to what a client may see: tellable errors as they are, others as an internal error. */
export function toClientError(err: unknown): ClientError {
  if (err instanceof ProtocolError) {
    const { code, message, param = null } = err
    return { type: 'invalid_request_error', code, message, param, statusCode: 400 }
  }
  const { code, message, statusCode } = toStoredError(isTellable(err) ? err : new RT_ERR_INTERNAL())
  const type = statusCode < 500 ? 'invalid_request_error' : 'server_error'
  return { type, code, message, param: null, statusCode }
}
