import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { toRefusal, type Refusal } from '@svc/registry/wire-kit'
import { codeOf, logFault } from '@svc/registry/kit'
import type { RunLog } from '@svc/registry'
import { REQUEST_ERRORS } from '../http/request-errors.ts'

/** True if clients may see an error. */
export function isTellable(err: unknown): boolean {
  const { statusCode, code } = toRefusal(err, REQUEST_ERRORS)
  return code === codeOf(err) && statusCode < 600
}

/** Converts any thrown value to the error of JSON-RPC that a client may see, with the stable code in its data. */
export function toProtocolError(err: unknown, log: RunLog): ProtocolError {
  if (err instanceof ProtocolError) return err
  const refusal = toRefusal(err, REQUEST_ERRORS)
  const { code, statusCode, message } = refusal
  logFault(log, 'request', { code, statusCode }, err)
  return new ProtocolError(rpcCodeOf(refusal), message, { code })
}

/** The code of JSON-RPC for a refusal. */
export function rpcCodeOf({ statusCode, code }: Pick<Refusal, 'statusCode' | 'code'>): number {
  if (code === 'MCP_ERR_BAD_JSON') return ProtocolErrorCode.ParseError
  if (code === 'MCP_ERR_BAD_REQUEST') return ProtocolErrorCode.InvalidRequest
  return statusCode >= 500 ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams
}
