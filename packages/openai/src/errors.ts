import { createError } from '@svc/registry'

/** An option is unknown or has an invalid value. */
export const OPENAI_ERR_BAD_OPTION = createError<[string]>('OPENAI_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The plugin is already registered with this prefix. */
export const OPENAI_ERR_REGISTERED_TWICE = createError<[string]>(
  'OPENAI_ERR_REGISTERED_TWICE',
  '@svc/openai is already registered with the %s: choose another prefix',
  500
)
/** The body is not valid JSON, or JSON that is not accepted. */
export const OPENAI_ERR_BAD_JSON = createError<[string]>('OPENAI_ERR_BAD_JSON', 'Bad JSON: %s', 400)
/** A query or a body does not match its schema, or its fields do not fit each other. */
export const OPENAI_ERR_BAD_REQUEST = createError<[string]>('OPENAI_ERR_BAD_REQUEST', 'Bad request: %s', 400)
/** The request asks for what this service does not do. */
export const OPENAI_ERR_UNSUPPORTED = createError<[string]>(
  'OPENAI_ERR_UNSUPPORTED',
  'Not supported: %s',
  400
)
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
/** The request has no token. */
export const OPENAI_ERR_NO_TOKEN = createError('OPENAI_ERR_NO_TOKEN', 'A token is required', 401)
/** The token is not valid, for whatever reason. */
export const OPENAI_ERR_INVALID_TOKEN = createError('OPENAI_ERR_INVALID_TOKEN', 'The token is not valid', 401)
/** The caller lacks the scope. */
export const OPENAI_ERR_MISSING_SCOPE = createError<[string]>(
  'OPENAI_ERR_MISSING_SCOPE',
  'The scope "%s" is required',
  403
)
/** The policy forbids this. */
export const OPENAI_ERR_FORBIDDEN = createError('OPENAI_ERR_FORBIDDEN', 'This is not allowed', 403)
/** A conversation of another user. */
export const OPENAI_ERR_FOREIGN_USER = createError(
  'OPENAI_ERR_FOREIGN_USER',
  'The conversation must be your own',
  403
)
/** A page of another site sent the request, with cookies. */
export const OPENAI_ERR_CROSS_ORIGIN = createError(
  'OPENAI_ERR_CROSS_ORIGIN',
  'Not allowed for pages of another origin',
  403
)
/** No exposed runnable is the model of this name. */
export const OPENAI_ERR_UNKNOWN_MODEL = createError<[string]>(
  'OPENAI_ERR_UNKNOWN_MODEL',
  'The model "%s" does not exist or you do not have access to it',
  404
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
/** The response is under way: cancel it first. */
export const OPENAI_ERR_UNDER_WAY = createError<[string]>(
  'OPENAI_ERR_UNDER_WAY',
  'The response "%s" is under way: cancel it first',
  409
)
/** The body has more bytes than `bodyLimit`. */
export const OPENAI_ERR_BODY_TOO_LARGE = createError(
  'OPENAI_ERR_BODY_TOO_LARGE',
  'The body is too large',
  413
)
/** The body is not plain JSON in UTF-8. */
export const OPENAI_ERR_UNSUPPORTED_MEDIA_TYPE = createError<[string]>(
  'OPENAI_ERR_UNSUPPORTED_MEDIA_TYPE',
  'Unsupported body: %s',
  415
)
/** The service failed; the log has the cause. */
export const OPENAI_ERR_INTERNAL = createError('OPENAI_ERR_INTERNAL', 'Internal Server Error', 500)
