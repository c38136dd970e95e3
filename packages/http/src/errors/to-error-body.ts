import { STATUS_CODES } from 'node:http'
import { isExposed } from '@svc/contract'
import { appCodeOf, toRefusal, type Refusal } from '@svc/surface'
import {
  HTTP_ERR_BAD_BODY_LENGTH,
  HTTP_ERR_BAD_JSON,
  HTTP_ERR_BAD_REQUEST,
  HTTP_ERR_BAD_URL,
  HTTP_ERR_BODY_TOO_LARGE,
  HTTP_ERR_RATE_LIMITED,
  HTTP_ERR_UNSUPPORTED_MEDIA_TYPE,
  HTTP_ERR_URL_TOO_LONG,
  HTTP_ERR_VALIDATION
} from '../errors.ts'
import { toFieldErrors } from '../requests/validator.ts'
import type { ErrorBody, Problem } from '../schemas/error-body.ts'
import { errors as common } from '../surface-errors.ts'

// Fastify's own request errors.
const FASTIFY_FAULTS = new Map<string, Refusal>(
  Object.entries({
    FST_ERR_BAD_URL: new HTTP_ERR_BAD_URL(),
    FST_ERR_MAX_PARAM_LENGTH: new HTTP_ERR_URL_TOO_LONG(),
    FST_ERR_CTP_BODY_TOO_LARGE: new HTTP_ERR_BODY_TOO_LARGE(),
    FST_ERR_CTP_EMPTY_JSON_BODY: new HTTP_ERR_BAD_JSON('the body is empty'),
    FST_ERR_CTP_INVALID_CONTENT_LENGTH: new HTTP_ERR_BAD_BODY_LENGTH(),
    FST_ERR_CTP_INVALID_MEDIA_TYPE: new HTTP_ERR_UNSUPPORTED_MEDIA_TYPE()
  }).map(([code, error]) => [code, toRefusal(error, common)])
)

/**
 * Converts any thrown value to what a client may see: exposed errors as they are, other 4xx errors with their message,
 * anything else as an internal error without details.
 */
export function toFault(err: unknown): Refusal {
  const thrown = (typeof err === 'object' && err !== null ? err : {}) as Record<string, unknown>
  const known = FASTIFY_FAULTS.get(String(thrown['code']))
  if (known !== undefined) return known
  const status = Number(thrown['statusCode'])
  return !isExposed(err) && status >= 400 && status < 500 ? refuse(status, thrown) : toRefusal(err, common)
}

// Passes on codes of the app, but neither those of Fastify and Node.js nor codes of ours: errors of ours have the mark.
function refuse(statusCode: number, thrown: Record<string, unknown>): Refusal {
  const { code: given, message, validation, validationContext } = thrown
  const errors = toFieldErrors(validation, String(validationContext))
  return {
    statusCode,
    code: appCodeOf(given) ?? codeOf(statusCode, given),
    message: String(message),
    ...(errors && { errors })
  }
}

function codeOf(statusCode: number, given: unknown): string {
  if (given === 'FST_ERR_VALIDATION') return new HTTP_ERR_VALIDATION('').code
  return (statusCode === 429 ? new HTTP_ERR_RATE_LIMITED() : new HTTP_ERR_BAD_REQUEST('')).code
}

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
  { statusCode, code, message, errors, runId }: Refusal,
  requestId: string
): ErrorBody {
  const body = { statusCode, code, error: titleOf(statusCode), message, requestId }
  return { ...body, ...(errors && { errors: [...errors] }), ...(runId !== undefined && { runId }) }
}

/** The same as a problem of RFC 9457. */
export function toProblem({ statusCode, code, message, errors, runId }: Refusal, requestId: string): Problem {
  return {
    type: 'about:blank',
    title: titleOf(statusCode),
    status: statusCode,
    detail: message,
    code,
    requestId,
    ...(errors && { errors: [...errors] }),
    ...(runId !== undefined && { runId })
  }
}

function titleOf(statusCode: number): string {
  return STATUS_CODES[statusCode] ?? (statusCode < 500 ? 'Client Error' : 'Server Error')
}
