import { createError } from '@svc/contract'
import { errors } from './surface-errors.ts'

export { OPENAI_ERR_UNKNOWN_MODEL } from './surface-errors.ts'

export const {
  BadOption: OPENAI_ERR_BAD_OPTION,
  RegisteredTwice: OPENAI_ERR_REGISTERED_TWICE,
  BadJson: OPENAI_ERR_BAD_JSON,
  BadRequest: OPENAI_ERR_BAD_REQUEST,
  NoToken: OPENAI_ERR_NO_TOKEN,
  InvalidToken: OPENAI_ERR_INVALID_TOKEN,
  MissingScope: OPENAI_ERR_MISSING_SCOPE,
  Forbidden: OPENAI_ERR_FORBIDDEN,
  ForeignUser: OPENAI_ERR_FOREIGN_USER,
  CrossOrigin: OPENAI_ERR_CROSS_ORIGIN,
  BodyTooLarge: OPENAI_ERR_BODY_TOO_LARGE,
  UnsupportedMedia: OPENAI_ERR_UNSUPPORTED_MEDIA_TYPE,
  Internal: OPENAI_ERR_INTERNAL,
  TokenExpired: OPENAI_ERR_TOKEN_EXPIRED,
  TooManyEvents: OPENAI_ERR_TOO_MANY_EVENTS,
  Unsupported: OPENAI_ERR_UNSUPPORTED
} = errors

/** A call or an approval that the run waits for has no answer in the request. */
export const OPENAI_ERR_UNANSWERED = createError<[string]>(
  'OPENAI_ERR_UNANSWERED',
  'No output was given for %s',
  400
)
/** A response left no turn after which another one could follow. */
export const OPENAI_ERR_NOT_CONTINUABLE = createError<[string]>(
  'OPENAI_ERR_NOT_CONTINUABLE',
  'No request can follow the response "%s": it began with a conversation that the client keeps, or it did not succeed',
  400
)
/** No route of the plugin has this method and path. */
export const OPENAI_ERR_ROUTE_NOT_FOUND = createError<[string]>(
  'OPENAI_ERR_ROUTE_NOT_FOUND',
  'Invalid URL (%s)',
  404
)
/** The caller has no response with this id. */
export const OPENAI_ERR_UNKNOWN_RESPONSE = createError<[string]>(
  'OPENAI_ERR_UNKNOWN_RESPONSE',
  'No response "%s"',
  404
)
/** The caller has no stored item with this id. */
export const OPENAI_ERR_UNKNOWN_ITEM = createError<[string]>(
  'OPENAI_ERR_UNKNOWN_ITEM',
  'No item "%s": it was not stored, or has been deleted; send the item itself',
  404
)
/** A plain request to the path of the WebSocket. */
export const OPENAI_ERR_UPGRADE_REQUIRED = createError(
  'OPENAI_ERR_UPGRADE_REQUIRED',
  'Connect with a WebSocket, or ask with POST',
  426
)
/** Too many streams of a WebSocket have a response under way. */
export const OPENAI_ERR_TOO_MANY_STREAMS = createError<[count: number]>(
  'OPENAI_ERR_TOO_MANY_STREAMS',
  '%d streams of this connection have a response under way: wait until one has ended',
  429
)
/** A binary frame: events are text. */
export const OPENAI_ERR_BINARY_FRAME = createError('OPENAI_ERR_BINARY_FRAME', 'Events are text frames', 415)
/** The WebSocket has been open for an hour. */
export const OPENAI_ERR_CONNECTION_LIMIT = createError(
  'OPENAI_ERR_CONNECTION_LIMIT',
  'The connection has lasted 60 minutes: open another one',
  400
)
/** The header `OpenAI-Beta` does not name the revision of the Agents API that is served. */
export const OPENAI_ERR_BETA = createError<[revision: string]>(
  'OPENAI_ERR_BETA',
  'The Agents API needs the header "OpenAI-Beta: %s"',
  400
)
/** Agents are part of the service: clients cannot create, change or delete them. */
export const OPENAI_ERR_READ_ONLY = createError(
  'OPENAI_ERR_READ_ONLY',
  'Agents are defined by the service, and cannot be created, changed or deleted',
  403
)
/** The session already has the answer to this call, or waits for no such call. */
export const OPENAI_ERR_UNKNOWN_CALL = createError<[callId: string]>(
  'OPENAI_ERR_UNKNOWN_CALL',
  'Unknown pending tool call: %s',
  400
)
/** The session waits for no such approval. */
export const OPENAI_ERR_UNKNOWN_APPROVAL = createError<[requestId: string]>(
  'OPENAI_ERR_UNKNOWN_APPROVAL',
  'Unknown pending approval request: %s',
  400
)
/** The list has nothing with this id. */
export const OPENAI_ERR_BAD_CURSOR = createError<[after: string]>(
  'OPENAI_ERR_BAD_CURSOR',
  'after: the list has no "%s"',
  400
)
/** The response is under way: cancel it first. */
export const OPENAI_ERR_UNDER_WAY = createError<[string]>(
  'OPENAI_ERR_UNDER_WAY',
  'The response "%s" is under way: cancel it first',
  409
)
