import { createGrpcStatus, toDetails, type GrpcCode } from '../grpc-status.ts'
import type { Fault } from '../to-fault.ts'

/** Names of HTTP statuses in Google's APIs. */
const STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  413: 'OUT_OF_RANGE',
  415: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  502: 'INTERNAL',
  503: 'UNAVAILABLE'
}

/** Codes of the protocol's errors. @see https://a2a-protocol.org/v1.0.0/specification/#54-error-code-mappings */
const CODES: Readonly<Record<string, GrpcCode>> = {
  TASK_NOT_FOUND: 'NOT_FOUND',
  TASK_NOT_CANCELABLE: 'FAILED_PRECONDITION',
  PUSH_NOTIFICATION_NOT_SUPPORTED: 'FAILED_PRECONDITION',
  UNSUPPORTED_OPERATION: 'FAILED_PRECONDITION',
  CONTENT_TYPE_NOT_SUPPORTED: 'INVALID_ARGUMENT',
  INVALID_AGENT_RESPONSE: 'INTERNAL',
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: 'FAILED_PRECONDITION',
  EXTENSION_SUPPORT_REQUIRED: 'FAILED_PRECONDITION',
  VERSION_NOT_SUPPORTED: 'FAILED_PRECONDITION'
}

/** Statuses of errors of the protocol that differ from those of the service. */
const OF_PROTOCOL: Readonly<Record<string, number>> = {
  CONTENT_TYPE_NOT_SUPPORTED: 400,
  INVALID_AGENT_RESPONSE: 500
}

/** @see https://a2a-protocol.org/v1.0.0/specification/#954-error-handling */
export function encodeRpcError(fault: Fault): object {
  return { code: fault.rpcCode, message: fault.message, data: toDetails(fault) }
}

/** @see https://a2a-protocol.org/v1.0.0/specification/#54-error-code-mappings */
export function restStatusOf({ httpStatus, reason }: Fault): number {
  return (reason === undefined ? undefined : OF_PROTOCOL[reason]) ?? httpStatus
}

export function encodeRestError(fault: Fault): object {
  const { reason, message } = fault
  const httpStatus = restStatusOf(fault)
  const status = (reason === undefined ? undefined : CODES[reason]) ?? STATUS[httpStatus] ?? 'UNKNOWN'
  return { error: { code: httpStatus, status, message, details: toDetails(fault) } }
}

export const encodeGrpcError = createGrpcStatus(CODES)
