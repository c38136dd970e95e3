import { isExposed, toStoredError } from '@svc/contract'
import { appCodeOf } from '@svc/surface'
import { A2A_ERR_INTERNAL, A2A_ERR_REFUSED } from '../errors.ts'

/** A field that is invalid. */
export interface Violation {
  field: string
  description: string
}

/** An error as clients see it, on both bindings. */
export interface Fault {
  /** The error code of this service. */
  code: string
  message: string
  /** The error code of JSON-RPC. */
  rpcCode: number
  httpStatus: number
  /** True if JSON-RPC answers with `httpStatus` too: the error is not one of the protocol. */
  keepsStatus: boolean
  /** The protocol's name of the error. */
  reason: string | undefined
  violations: readonly Violation[]
  metadata: Readonly<Record<string, string>> | undefined
  /** Seconds. */
  retryAfter: number | undefined
}

/** JSON-RPC's code for errors that are not in the protocol. */
const SERVER_ERROR = -32000
const INTERNAL_ERROR = -32603

const PROTOCOL: Readonly<Record<string, readonly [rpcCode: number, reason?: string]>> = {
  A2A_ERR_BAD_JSON: [-32700],
  A2A_ERR_BAD_REQUEST: [-32600],
  A2A_ERR_UNKNOWN_METHOD: [-32601],
  A2A_ERR_BAD_PARAMS: [-32602],
  A2A_ERR_BAD_PROTO: [-32602],
  RUN_ERR_BAD_INPUT: [-32602],
  RUN_ERR_KEY_REUSED: [-32602],
  RUN_ERR_WHEN_BUSY: [-32602],
  RUN_ERR_NO_TURN: [-32602],
  REG_ERR_BAD_CURSOR: [-32602],
  A2A_ERR_INTERNAL: [INTERNAL_ERROR],
  A2A_ERR_TASK_NOT_FOUND: [-32001, 'TASK_NOT_FOUND'],
  RUN_ERR_NOT_FOUND: [-32001, 'TASK_NOT_FOUND'],
  A2A_ERR_NOT_CANCELABLE: [-32002, 'TASK_NOT_CANCELABLE'],
  A2A_ERR_NO_PUSH: [-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
  A2A_ERR_UNSUPPORTED: [-32004, 'UNSUPPORTED_OPERATION'],
  RUN_ERR_SESSION_BUSY: [-32004, 'UNSUPPORTED_OPERATION'],
  A2A_ERR_CONTENT_TYPE: [-32005, 'CONTENT_TYPE_NOT_SUPPORTED'],
  A2A_ERR_BAD_ANSWER: [-32006, 'INVALID_AGENT_RESPONSE'],
  A2A_ERR_BAD_CARD: [-32006, 'INVALID_AGENT_RESPONSE'],
  A2A_ERR_NO_EXTENDED_CARD: [-32007, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'],
  A2A_ERR_EXTENSION_REQUIRED: [-32008, 'EXTENSION_SUPPORT_REQUIRED'],
  A2A_ERR_VERSION: [-32009, 'VERSION_NOT_SUPPORTED']
}

/** Codes by the protocol's names of errors. */
const CODES: ReadonlyMap<unknown, number> = new Map(
  Object.values(PROTOCOL).flatMap(([code, reason]) => (reason === undefined ? [] : [[reason, code] as const]))
)

/** The code of JSON-RPC of an error that the protocol names; undefined for another name. */
export function codeOfReason(reason: unknown): number | undefined {
  return CODES.get(reason)
}

const KEPT = new Set([401, 403, 413, 415, 429, 503])
const TEMPORARY = new Set([429, 503])
// Seconds, if the error does not say.
const RETRY_AFTER = 5

// Errors of Fastify itself.
const FASTIFY: Readonly<Record<string, string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'A2A_ERR_BODY_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'A2A_ERR_CONTENT_TYPE',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'A2A_ERR_BAD_JSON',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'A2A_ERR_BAD_REQUEST',
  FST_ERR_CTP_EMPTY_TYPE: 'A2A_ERR_CONTENT_TYPE'
}
const MESSAGES: Readonly<Record<string, string>> = {
  A2A_ERR_BODY_TOO_LARGE: 'The body is too large',
  A2A_ERR_CONTENT_TYPE: 'The content type is not supported: send application/json',
  A2A_ERR_BAD_JSON: 'Bad JSON: the body is empty',
  A2A_ERR_BAD_REQUEST: 'Bad request: the body is not as long as Content-Length says'
}

/** Turns an error into what the client sees: exposed errors unchanged, any other as an internal error. */
export function toFault(err: unknown): Fault {
  const thrown = (typeof err === 'object' && err !== null ? err : {}) as Record<string, unknown>
  const fastifys = FASTIFY[String(thrown['code'])]
  if (fastifys !== undefined)
    return fault(fastifys, MESSAGES[fastifys]!, Number(thrown['statusCode'] ?? 400), {})
  if (isExposed(err)) {
    const { code, message, statusCode, retryAfter } = toStoredError(err)
    return fault(code, message, statusCode, thrown, retryAfter)
  }
  const status = Number(thrown['statusCode'])
  if (status >= 400 && status < 500) return refusal(status, thrown)
  const { code: internal, message: generic } = new A2A_ERR_INTERNAL()
  return fault(internal, generic, status >= 500 && status < 600 ? status : 500, {})
}

// A hook of the app refuses a request, such as one over a rate limit, and may have set `Retry-After`. Its code is passed on, unless it
// is one of Fastify or claims to be one of ours.
function refusal(status: number, { code: given, message }: Record<string, unknown>): Fault {
  const code = appCodeOf(given) ?? new A2A_ERR_REFUSED('').code
  return { ...fault(code, String(message), status, {}), retryAfter: undefined }
}

function fault(
  code: string,
  message: string,
  httpStatus: number,
  thrown: Record<string, unknown>,
  retryAfter?: number
): Fault {
  const violations = toViolations(thrown['errors'])
  // A part of the wrong type is an error of the protocol, unlike a body of the wrong type.
  const keepsStatus = KEPT.has(httpStatus) && !(code === 'A2A_ERR_CONTENT_TYPE' && violations.length > 0)
  const [rpcCode, reason] = PROTOCOL[code] ?? [
    keepsStatus || httpStatus < 500 ? SERVER_ERROR : INTERNAL_ERROR
  ]
  return {
    code,
    message,
    rpcCode,
    // Errors of the protocol have its status.
    httpStatus: code === 'RUN_ERR_KEY_REUSED' || code === 'RUN_ERR_SESSION_BUSY' ? 400 : httpStatus,
    keepsStatus,
    reason,
    violations,
    // Errors of other packages may have another `metadata`.
    metadata: code in PROTOCOL ? metadataOf(thrown) : undefined,
    retryAfter: retryAfter ?? (TEMPORARY.has(httpStatus) ? RETRY_AFTER : undefined)
  }
}

function metadataOf({ metadata, runId }: Record<string, unknown>): Fault['metadata'] {
  return typeof runId === 'string' ? { taskId: runId } : (metadata as Fault['metadata'])
}

/** The name of a path's field, `message.parts.0`, as `google.rpc.BadRequest` asks for. */
export function toField(path: string): string {
  return path.replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
}

// Errors of this package have a field, those of the engine a path.
function toViolations(errors: unknown): Violation[] {
  if (!Array.isArray(errors)) return []
  return errors.flatMap((each: Record<string, unknown>) => {
    const field = each['field'] ?? (typeof each['path'] === 'string' ? toField(each['path']) : undefined)
    const description = each['description'] ?? each['message']
    return typeof field === 'string' && typeof description === 'string' ? [{ field, description }] : []
  })
}
