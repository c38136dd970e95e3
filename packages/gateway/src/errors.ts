import { createError } from '@svc/contract'
import { errors } from './surface-errors.ts'

export const {
  BadOption: GTW_ERR_BAD_OPTION,
  RegisteredTwice: GTW_ERR_REGISTERED_TWICE,
  NoToken: GTW_ERR_NO_TOKEN,
  InvalidToken: GTW_ERR_INVALID_TOKEN,
  MissingScope: GTW_ERR_MISSING_SCOPE,
  Forbidden: GTW_ERR_FORBIDDEN,
  ForeignUser: GTW_ERR_FOREIGN_USER,
  CrossOrigin: GTW_ERR_CROSS_ORIGIN,
  UnknownRunnable: GTW_ERR_UNKNOWN_RUNNABLE,
  Internal: GTW_ERR_INTERNAL,
  TokenExpired: GTW_ERR_TOKEN_EXPIRED,
  TooManyEvents: GTW_ERR_TOO_MANY_EVENTS
} = errors

/** The payload of an event does not match its schema. */
export const GTW_ERR_BAD_PAYLOAD = createError<[string]>('GTW_ERR_BAD_PAYLOAD', 'Bad payload: %s', 400)
/** The connection tried to enter the namespace again while the first handshake was pending. */
export const GTW_ERR_HANDSHAKE_TWICE = createError('GTW_ERR_HANDSHAKE_TWICE', 'Two handshakes at once', 409)
/** No event has this name. */
export const GTW_ERR_UNKNOWN_EVENT = createError<[string]>('GTW_ERR_UNKNOWN_EVENT', 'No such event: %s', 404)
/** The connection already follows `limits.runs` runs. */
export const GTW_ERR_TOO_MANY_RUNS = createError(
  'GTW_ERR_TOO_MANY_RUNS',
  'This connection follows too many runs',
  429
)
/** `session.unwatch` of a session that this connection does not follow. */
export const GTW_ERR_NOT_WATCHED = createError<[sessionId: string]>(
  'GTW_ERR_NOT_WATCHED',
  'This connection does not follow the session "%s"',
  404
)
/** The connection has a call already. */
export const GTW_ERR_CALL_IN_PROGRESS = createError(
  'GTW_ERR_CALL_IN_PROGRESS',
  'This connection has a call already',
  409
)
/** The connection has no call. */
export const GTW_ERR_NO_CALL = createError('GTW_ERR_NO_CALL', 'This connection has no call', 409)
/** The connection has too many unanswered `run.file` events: send the next one once an earlier one is answered. */
export const GTW_ERR_TOO_MANY_READS = createError(
  'GTW_ERR_TOO_MANY_READS',
  'This connection reads too many files at once',
  429
)
/** A message is larger than `limits.payload`, or than `limits.handshake` before a namespace admits the connection. */
export const GTW_ERR_PAYLOAD_TOO_LARGE = createError(
  'GTW_ERR_PAYLOAD_TOO_LARGE',
  'The message is too large',
  413
)
/** More connections than `limits.waiting` were in no namespace; this was the oldest. */
export const GTW_ERR_TOO_MANY_WAITING = createError(
  'GTW_ERR_TOO_MANY_WAITING',
  'Too many connections wait for admission',
  429
)
