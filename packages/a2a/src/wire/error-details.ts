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
export function toRetryInfo(seconds: number): DetailJson {
  return { '@type': `${TYPE}RetryInfo`, retryDelay: `${Math.ceil(seconds)}s` }
}
