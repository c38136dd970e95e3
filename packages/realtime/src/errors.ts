import { createError } from '@svc/registry'

/** An option is unknown or has an invalid value. */
export const RT_ERR_BAD_OPTION = createError<[string]>('RT_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The plugin is already registered with this path. */
export const RT_ERR_REGISTERED_TWICE = createError<[string]>(
  'RT_ERR_REGISTERED_TWICE',
  '@svc/realtime is already registered with the %s: choose another prefix',
  500
)
/** The body of `client_secrets` is not valid JSON, or JSON that is not accepted. */
export const RT_ERR_BAD_JSON = createError<[string]>('RT_ERR_BAD_JSON', 'Bad JSON: %s', 400)
/** A query or a body does not match its schema. */
export const RT_ERR_BAD_REQUEST = createError<[string]>('RT_ERR_BAD_REQUEST', 'Bad request: %s', 400)
/** The URL names no voice agent. */
export const RT_ERR_NO_MODEL = createError(
  'RT_ERR_NO_MODEL',
  'Name a voice agent: "?model=" and its name',
  400
)
/** The session configuration does not fit into a client secret. */
export const RT_ERR_SECRET_TOO_LARGE = createError<[number]>(
  'RT_ERR_SECRET_TOO_LARGE',
  'The session does not fit into a client secret of %d characters: shorten its instructions or tools',
  400
)
/** The request has no token. */
export const RT_ERR_NO_TOKEN = createError('RT_ERR_NO_TOKEN', 'A token is required', 401)
/** The token or the client secret is not valid, for whatever reason. */
export const RT_ERR_INVALID_TOKEN = createError('RT_ERR_INVALID_TOKEN', 'The token is not valid', 401)
/** The token of the connection has expired: reconnect with another. */
export const RT_ERR_TOKEN_EXPIRED = createError('RT_ERR_TOKEN_EXPIRED', 'The token has expired', 401)
/** The caller lacks the scope. */
export const RT_ERR_MISSING_SCOPE = createError<[string]>(
  'RT_ERR_MISSING_SCOPE',
  'The scope "%s" is required',
  403
)
/** The policy forbids this. */
export const RT_ERR_FORBIDDEN = createError('RT_ERR_FORBIDDEN', 'This is not allowed', 403)
/** `userId` names another user. */
export const RT_ERR_FOREIGN_USER = createError('RT_ERR_FOREIGN_USER', 'userId must be your own', 403)
/** The client secret is for another voice agent. */
export const RT_ERR_OTHER_MODEL = createError<[string]>(
  'RT_ERR_OTHER_MODEL',
  'The client secret is for the model "%s"',
  403
)
/** The client secret is for another session, user or call. */
export const RT_ERR_OTHER_SESSION = createError<[string]>(
  'RT_ERR_OTHER_SESSION',
  'The client secret does not allow another "%s": ask for a secret with it',
  403
)
/** A page of another site opened the connection, with cookies. */
export const RT_ERR_CROSS_ORIGIN = createError(
  'RT_ERR_CROSS_ORIGIN',
  'Not allowed for pages of another origin',
  403
)
/** No exposed agent has this name. */
export const RT_ERR_UNKNOWN_RUNNABLE = createError<[string, string]>(
  'RT_ERR_UNKNOWN_RUNNABLE',
  'No %s "%s"',
  404
)
/** Another connection took over the call. */
export const RT_ERR_REPLACED = createError('RT_ERR_REPLACED', 'Another connection has the call now', 409)
/** A binary frame: events are text. */
export const RT_ERR_BINARY_FRAME = createError(
  'RT_ERR_BINARY_FRAME',
  'Events are text frames; send audio as base64 in input_audio_buffer.append',
  415
)
/** A plain request to the path of the WebSocket. */
export const RT_ERR_UPGRADE_REQUIRED = createError('RT_ERR_UPGRADE_REQUIRED', 'Connect with a WebSocket', 426)
/** The connection sent more events than `limits.eventsPerSecond`. */
export const RT_ERR_TOO_MANY_EVENTS = createError('RT_ERR_TOO_MANY_EVENTS', 'Too many events', 429)
/** More events than the call takes arrived before it began. */
export const RT_ERR_NOT_STARTED = createError(
  'RT_ERR_NOT_STARTED',
  'Too many events arrived before the call began',
  429
)
/** `authenticate` or `authorize` took longer than `handshakeTimeout`. */
export const RT_ERR_HANDSHAKE_TIMEOUT = createError<[number]>(
  'RT_ERR_HANDSHAKE_TIMEOUT',
  'The client was not admitted within %d ms: try again',
  503
)
/** The service failed; the log has the cause. */
export const RT_ERR_INTERNAL = createError('RT_ERR_INTERNAL', 'Internal Server Error', 500)
