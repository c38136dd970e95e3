import type { IncomingHttpHeaders } from 'node:http'
import { logFault, toRefusal, type Refusal } from '@svc/surface'
import { codeOf, type RunLog } from '@svc/contract'
import * as catalogue from '../errors.ts'
import { RPC_CODES, RpcError } from '../protocol/rpc-error.ts'
import { errors } from '../surface-errors.ts'

/** True if clients may see an error. */
export function isTellable(err: unknown): boolean {
  const { statusCode, code } = toRefusal(err, errors)
  return code === codeOf(err) && statusCode < 600
}

const PROTOCOL_ERRORS = Object.values(catalogue)

/** True for the errors of this wire itself: they end a request, while those of a run are the result of a call. */
export const isProtocolError = (err: unknown): boolean =>
  PROTOCOL_ERRORS.some((Class) => err instanceof Class)

/** Converts any thrown value to the error that a client may see, with the stable code in its data, and logs it. */
export function toRpcError(
  err: unknown,
  { log, headers }: { readonly log: RunLog; readonly headers: IncomingHttpHeaders }
): RpcError {
  if (err instanceof RpcError) {
    const { code, status } = err
    log.info({ code, statusCode: status }, 'request refused')
    return err
  }
  const refusal = toRefusal(err, errors)
  const { code, statusCode, message } = refusal
  logFault(log, 'request', { code, statusCode }, err, { headers })
  return new RpcError(rpcCodeOf(refusal), message, { data: { code } })
}

/** The code of JSON-RPC for a refusal. */
export function rpcCodeOf({ statusCode, code }: Pick<Refusal, 'statusCode' | 'code'>): number {
  if (code === 'MCP_ERR_BAD_JSON') return RPC_CODES.ParseError
  if (code === 'MCP_ERR_BAD_REQUEST') return RPC_CODES.InvalidRequest
  return statusCode >= 500 ? RPC_CODES.InternalError : RPC_CODES.InvalidParams
}
