import type { Fault } from './to-fault.ts'

const TYPE = 'type.googleapis.com/google.rpc.'

/** The details of an error, as the JSON of Google's error model. Errors of the protocol have its domain, all others ours. */
export function toDetails({ code, reason, violations, metadata }: Fault): DetailJson[] {
  const info = {
    '@type': `${TYPE}ErrorInfo`,
    reason: reason ?? code,
    domain: reason === undefined ? 'svc' : 'a2a-protocol.org',
    ...(metadata && { metadata })
  }
  if (violations.length === 0) return [info]
  return [info, { '@type': `${TYPE}BadRequest`, fieldViolations: violations }]
}

/** The ProtoJSON of a detail. */
export interface DetailJson {
  readonly '@type': string
  readonly [field: string]: unknown
}

/** @param seconds after which to try again */
function toRetryInfo(seconds: number): DetailJson {
  return { '@type': `${TYPE}RetryInfo`, retryDelay: `${Math.ceil(seconds)}s` }
}

/** Names of status codes. @see https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
export type GrpcCode =
  | 'INVALID_ARGUMENT'
  | 'DEADLINE_EXCEEDED'
  | 'NOT_FOUND'
  | 'PERMISSION_DENIED'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'
  | 'UNAUTHENTICATED'

/** An error over gRPC: a `google.rpc.Status`. */
export interface GrpcStatus {
  readonly code: GrpcCode
  readonly message: string
  readonly details: readonly DetailJson[]
}

/** The codes of errors that are not of the protocol, by HTTP status. */
const OF_STATUS: Readonly<Record<number, GrpcCode>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  410: 'NOT_FOUND',
  413: 'RESOURCE_EXHAUSTED',
  429: 'RESOURCE_EXHAUSTED',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED'
}

/** Errors are headers, which clients read 8 kB of. */
const MAX_MESSAGE = 1_024
const MAX_VIOLATIONS = 2_048

/** Makes the statuses of a version from the codes of the protocol's errors, by their names. */
export function createGrpcStatus(ofProtocol: Readonly<Record<string, GrpcCode>>) {
  return (fault: Fault): GrpcStatus => {
    const { message, reason, httpStatus, retryAfter } = fault
    const known = reason === undefined ? undefined : ofProtocol[reason]
    const details = toDetails({ ...fault, violations: someOf(fault.violations) })
    return {
      code: known ?? OF_STATUS[httpStatus] ?? (httpStatus < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL'),
      // Half of a surrogate pair has no percent-encoding.
      message: message.slice(0, MAX_MESSAGE).toWellFormed(),
      details: retryAfter === undefined ? details : [...details, toRetryInfo(retryAfter)]
    }
  }
}

function someOf(violations: Fault['violations']): Fault['violations'] {
  let left = MAX_VIOLATIONS
  return violations.filter(({ field, description }) => (left -= field.length + description.length) >= 0)
}
