import { STATUS_CODES } from 'node:http'
import type { ErrorBody, Problem } from '../schemas/error-body.ts'
import type { Fault } from './to-fault.ts'

/** The media type of RFC 9457. */
export const PROBLEM = 'application/problem+json'

/** Whether an `Accept` header names that type with a weight above 0. RFC 9110, section 12.5.1. */
export function acceptsProblem(accept: string | undefined): boolean {
  if (accept === undefined) return false
  return accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((each) => each.trim().toLowerCase())
    return type === PROBLEM && !parameters.some((each) => /^q=0(?:\.0{0,3})?$/.test(each))
  })
}

/** The body of an error. */
export function toErrorBody(
  { statusCode, code, message, errors, runId }: Fault,
  requestId: string
): ErrorBody {
  const body = { statusCode, code, error: titleOf(statusCode), message, requestId }
  return { ...body, ...(errors && { errors }), ...(runId !== undefined && { runId }) }
}

/** The same as a problem of RFC 9457. */
export function toProblem({ statusCode, code, message, errors, runId }: Fault, requestId: string): Problem {
  return {
    type: 'about:blank',
    title: titleOf(statusCode),
    status: statusCode,
    detail: message,
    code,
    requestId,
    ...(errors && { errors }),
    ...(runId !== undefined && { runId })
  }
}

function titleOf(statusCode: number): string {
  return STATUS_CODES[statusCode] ?? (statusCode < 500 ? 'Client Error' : 'Server Error')
}
