import { Value } from '@sinclair/typebox/value'
import { isCatalogued, isTellable, toStoredError } from '@svc/contract'
import { toChallenge } from '@svc/surface'
import {
  HTTP_ERR_BAD_BODY_LENGTH,
  HTTP_ERR_BAD_JSON,
  HTTP_ERR_BAD_REQUEST,
  HTTP_ERR_BAD_URL,
  HTTP_ERR_BODY_TOO_LARGE,
  HTTP_ERR_INTERNAL,
  HTTP_ERR_RATE_LIMITED,
  HTTP_ERR_UNSUPPORTED_MEDIA_TYPE,
  HTTP_ERR_URL_TOO_LONG,
  HTTP_ERR_VALIDATION
} from '../errors.ts'
import { ErrorBodySchema, type ErrorBody } from '../schemas/error-body.ts'
import { toFieldErrors } from './to-field-errors.ts'
import { errors as common } from '../surface-errors.ts'

/** An error as clients see it. */
export interface Fault {
  statusCode: number
  code: string
  message: string
  errors?: ErrorBody['errors']
  /** The run that has the turn of a busy session. */
  runId?: string
  /** Seconds. */
  retryAfter?: number
  /** For `WWW-Authenticate`. */
  challenge?: string
}

// Fastify's own request errors.
const FASTIFY_FAULTS = new Map<string, Fault>(
  Object.entries({
    FST_ERR_BAD_URL: new HTTP_ERR_BAD_URL(),
    FST_ERR_MAX_PARAM_LENGTH: new HTTP_ERR_URL_TOO_LONG(),
    FST_ERR_CTP_BODY_TOO_LARGE: new HTTP_ERR_BODY_TOO_LARGE(),
    FST_ERR_CTP_EMPTY_JSON_BODY: new HTTP_ERR_BAD_JSON('the body is empty'),
    FST_ERR_CTP_INVALID_CONTENT_LENGTH: new HTTP_ERR_BAD_BODY_LENGTH(),
    FST_ERR_CTP_INVALID_MEDIA_TYPE: new HTTP_ERR_UNSUPPORTED_MEDIA_TYPE()
  }).map(([code, error]) => [code, { ...pick(error), statusCode: error.statusCode ?? 400 }])
)

/**
 * Converts any thrown value to what a client may see: tellable errors as they are, other 4xx errors with their message,
 * anything else as an internal error without details.
 */
export function toFault(err: unknown): Fault {
  const thrown = asRecord(err)
  return FASTIFY_FAULTS.get(String(thrown['code'])) ?? readFault(err, thrown)
}

function readFault(err: unknown, thrown: Record<string, unknown>): Fault {
  if (isTellable(err)) {
    const { code, message, statusCode, retryAfter } = toStoredError(err)
    const errors = listOf(thrown['errors'])
    const challenge = toChallenge(err, common.challenges)
    const runId = code === 'RUN_ERR_SESSION_BUSY' ? thrown['runId'] : undefined
    return {
      statusCode,
      code,
      message,
      ...(errors && { errors }),
      ...(typeof runId === 'string' && { runId }),
      ...(challenge !== undefined && { challenge }),
      ...(retryAfter !== undefined && { retryAfter })
    }
  }
  const status = Number(thrown['statusCode'])
  if (status >= 400 && status < 500) return refusal(status, thrown)
  const { code: internal, message: generic } = new HTTP_ERR_INTERNAL()
  return { statusCode: status >= 500 && status < 600 ? status : 500, code: internal, message: generic }
}

// The `errors` of an AggregateError have another form.
function listOf(errors: unknown): ErrorBody['errors'] {
  return Value.Check(ErrorBodySchema.properties.errors, errors) ? errors : undefined
}

// Passes on codes of the app, but neither those of Fastify and Node.js nor codes of ours: errors of ours have the mark.
function refusal(statusCode: number, thrown: Record<string, unknown>): Fault {
  const { code: given, message, validation, validationContext } = thrown
  const own =
    typeof given === 'string' && /^(?!(?:FST|ERR)_)[A-Z0-9]+_[A-Z0-9_]+$/.test(given) && !isCatalogued(given)
  const errors = toFieldErrors(validation, String(validationContext))
  return {
    statusCode,
    code: own ? given : codeOf(statusCode, given),
    message: String(message),
    ...(errors && { errors })
  }
}

function codeOf(statusCode: number, given: unknown): string {
  if (given === 'FST_ERR_VALIDATION') return new HTTP_ERR_VALIDATION('').code
  return (statusCode === 429 ? new HTTP_ERR_RATE_LIMITED() : new HTTP_ERR_BAD_REQUEST('')).code
}

function pick({ code, message }: { code: string; message: string }) {
  return { code, message }
}

function asRecord(err: unknown): Record<string, unknown> {
  return typeof err === 'object' && err !== null ? (err as Record<string, unknown>) : {}
}
