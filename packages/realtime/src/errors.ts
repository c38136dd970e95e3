import { createError } from '@svc/contract'
import { errors } from './surface-errors.ts'

export const {
  BadOption: RT_ERR_BAD_OPTION,
  RegisteredTwice: RT_ERR_REGISTERED_TWICE,
  BadJson: RT_ERR_BAD_JSON,
  BadRequest: RT_ERR_BAD_REQUEST,
  NoToken: RT_ERR_NO_TOKEN,
  InvalidToken: RT_ERR_INVALID_TOKEN,
  MissingScope: RT_ERR_MISSING_SCOPE,
  Forbidden: RT_ERR_FORBIDDEN,
  ForeignUser: RT_ERR_FOREIGN_USER,
  CrossOrigin: RT_ERR_CROSS_ORIGIN,
  UnknownRunnable: RT_ERR_UNKNOWN_RUNNABLE,
  BodyTooLarge: RT_ERR_BODY_TOO_LARGE,
  UnsupportedMedia: RT_ERR_UNSUPPORTED_MEDIA_TYPE,
  Internal: RT_ERR_INTERNAL,
  TokenExpired: RT_ERR_TOKEN_EXPIRED,
  TooManyEvents: RT_ERR_TOO_MANY_EVENTS
} = errors

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
