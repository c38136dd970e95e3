import { createError } from '@svc/registry'

/** An option that is unknown or has a bad value. */
export const GTW_ERR_BAD_OPTION = createError<[string]>('GTW_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The plugin is there already, with the same namespace. */
export const GTW_ERR_REGISTERED_TWICE = createError<[string]>(
  'GTW_ERR_REGISTERED_TWICE',
  '@svc/gateway is registered already with the %s: give this one another',
  500
)
/** The payload of an event does not fit its schema. */
export const GTW_ERR_BAD_PAYLOAD = createError<[string]>('GTW_ERR_BAD_PAYLOAD', 'Bad payload: %s', 400)
/** `after` of `run.watch` names no part of the run. */
export const GTW_ERR_BAD_AFTER = createError(
  'GTW_ERR_BAD_AFTER',
  '"after" must be the number of a part of this run, or 0',
  400
)
/** A token is needed and there is none. */
export const GTW_ERR_NO_TOKEN = createError('GTW_ERR_NO_TOKEN', 'A token is needed', 401)
/** The token is not good, whatever the reason. */
export const GTW_ERR_INVALID_TOKEN = createError('GTW_ERR_INVALID_TOKEN', 'The token is not valid', 401)
/** The token that the socket came with is over: come back with another. */
export const GTW_ERR_TOKEN_EXPIRED = createError('GTW_ERR_TOKEN_EXPIRED', 'The token has expired', 401)
/** The caller does not have the scope. */
export const GTW_ERR_MISSING_SCOPE = createError<[string]>(
  'GTW_ERR_MISSING_SCOPE',
  'The scope "%s" is needed',
  403
)
/** The caller may not do this. */
export const GTW_ERR_FORBIDDEN = createError('GTW_ERR_FORBIDDEN', 'This is not allowed', 403)
/** `userId` is not the caller's own. */
export const GTW_ERR_FOREIGN_USER = createError('GTW_ERR_FOREIGN_USER', 'userId must be your own', 403)
/** The handshake came with a cookie, from a page of another site. */
export const GTW_ERR_CROSS_ORIGIN = createError(
  'GTW_ERR_CROSS_ORIGIN',
  'Not allowed from another origin with a cookie',
  403
)
/** The connection entered the namespace a second time before the first was decided. */
export const GTW_ERR_HANDSHAKE_TWICE = createError('GTW_ERR_HANDSHAKE_TWICE', 'Two handshakes at once', 409)
/** No agent, team or workflow of this name is exposed here. */
export const GTW_ERR_UNKNOWN_RUNNABLE = createError<[string, string]>(
  'GTW_ERR_UNKNOWN_RUNNABLE',
  'No %s "%s"',
  404
)
/** No event of this name is taken. */
export const GTW_ERR_UNKNOWN_EVENT = createError<[string]>('GTW_ERR_UNKNOWN_EVENT', 'No such event: %s', 404)
/** More events came than `limits.eventsPerSecond`. */
export const GTW_ERR_TOO_MANY_EVENTS = createError('GTW_ERR_TOO_MANY_EVENTS', 'Too many events', 429)
/** As many runs as `limits.runs` are followed on the connection. */
export const GTW_ERR_TOO_MANY_RUNS = createError(
  'GTW_ERR_TOO_MANY_RUNS',
  'Too many runs are followed on this connection',
  429
)
/** A message is larger than `limits.payload`, or than `limits.handshake` before a namespace has let the connection in. */
export const GTW_ERR_PAYLOAD_TOO_LARGE = createError(
  'GTW_ERR_PAYLOAD_TOO_LARGE',
  'The message is too large',
  413
)
/** More connections than `limits.waiting` were in no namespace, and this was the oldest. */
export const GTW_ERR_TOO_MANY_WAITING = createError(
  'GTW_ERR_TOO_MANY_WAITING',
  'Too many connections wait to be let in',
  429
)
/** Something of ours failed; the log says what. */
export const GTW_ERR_INTERNAL = createError('GTW_ERR_INTERNAL', 'Internal Server Error', 500)
