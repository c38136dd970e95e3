import { quoteName } from '@svc/surface'
import { MODERN } from './revisions.ts'

/** Codes of JSON-RPC, and those that MCP adds. */
export const RPC_CODES = {
  ParseError: -32_700,
  InvalidRequest: -32_600,
  MethodNotFound: -32_601,
  InvalidParams: -32_602,
  InternalError: -32_603,
  Refused: -32_000,
  HeaderMismatch: -32_020,
  MissingCapability: -32_021,
  UnsupportedRevision: -32_022
} as const

/** An error of the protocol, as its response has it. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown
  /** The status of the reply, unless it is a stream already. */
  readonly status: number

  constructor(
    code: number,
    message: string,
    { data, status = 200 }: { data?: unknown; status?: number } = {}
  ) {
    super(message)
    this.code = code
    this.data = data
    this.status = status
  }
}

/** A message that JSON-RPC, or the revision, does not have. */
export function invalidRequest(message: string): RpcError {
  return new RpcError(RPC_CODES.InvalidRequest, message, { status: 400 })
}

/** Parameters that the method does not take. */
export function invalidParams(message: string, status = 200): RpcError {
  return new RpcError(RPC_CODES.InvalidParams, message, { status })
}

/** A header that does not say what the body says, or is not there. */
export function headerMismatch(header: string, value: string): RpcError {
  const message = `the header ${header} must be ${quoteName(value)}, as in the body`
  return new RpcError(RPC_CODES.HeaderMismatch, message, { status: 400 })
}

export function unsupportedRevision(requested: string): RpcError {
  const data = { supported: [MODERN], requested }
  return new RpcError(RPC_CODES.UnsupportedRevision, 'Unsupported protocol version', { data, status: 400 })
}

/** A method that a revision does not have. */
export function methodNotFound(status: number): RpcError {
  return new RpcError(RPC_CODES.MethodNotFound, 'Method not found', { status })
}

/** A client that does not declare what its request needs. */
export function missingCapability(requiredCapabilities: object): RpcError {
  const message = `The client lacks the capability: ${JSON.stringify(requiredCapabilities)}`
  return new RpcError(RPC_CODES.MissingCapability, message, { data: { requiredCapabilities }, status: 400 })
}

/** A resource that the caller does not reach. */
export function resourceNotFound(uri: string): RpcError {
  return new RpcError(RPC_CODES.InvalidParams, `Resource not found: ${uri}`, { data: { uri } })
}
