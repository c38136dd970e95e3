import type { Fault } from '../to-fault.ts'

const TYPE = 'type.googleapis.com/google.rpc.'

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
  const precondition = httpStatus === 400 && reason !== undefined && reason !== 'VERSION_NOT_SUPPORTED'
  const status = precondition ? 'FAILED_PRECONDITION' : (STATUS[httpStatus] ?? 'UNKNOWN')
  return { error: { code: httpStatus, status, message, details: toDetails(fault) } }
}

// Errors of the protocol have its domain, all others ours.
function toDetails({ code, reason, violations, metadata }: Fault): object[] {
  const info = {
    '@type': `${TYPE}ErrorInfo`,
    reason: reason ?? code,
    domain: reason === undefined ? 'svc' : 'a2a-protocol.org',
    ...(metadata && { metadata })
  }
  if (violations.length === 0) return [info]
  return [info, { '@type': `${TYPE}BadRequest`, fieldViolations: violations }]
}
