import { createError } from '@svc/registry'

/** An option of the plugin, of `remoteAgent` or of `buildAgentCard` that is unknown or bad. */
export const A2A_ERR_BAD_OPTION = createError<[string]>('A2A_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The plugin is there already, with the same base path. */
export const A2A_ERR_REGISTERED_TWICE = createError<[string]>(
  'A2A_ERR_REGISTERED_TWICE',
  '@svc/a2a is registered already with the %s: give this one another',
  500
)
/** The body is no JSON. */
export const A2A_ERR_BAD_JSON = createError<[string]>('A2A_ERR_BAD_JSON', 'Bad JSON: %s', 400)
/** The body is JSON, and no request. */
export const A2A_ERR_BAD_REQUEST = createError<[string]>('A2A_ERR_BAD_REQUEST', 'Bad request: %s', 400)
/** No version that is served has such a method. */
export const A2A_ERR_UNKNOWN_METHOD = createError<[string]>(
  'A2A_ERR_UNKNOWN_METHOD',
  'Unknown method %s',
  404
)
/** The parameters do not fit; `errors` lists what does not. */
export const A2A_ERR_BAD_PARAMS = createError<[string]>('A2A_ERR_BAD_PARAMS', 'Bad parameters: %s', 400)
/** Something failed that is none of the caller's business. */
export const A2A_ERR_INTERNAL = createError('A2A_ERR_INTERNAL', 'Internal error', 500)
/** No such task, or one of another owner. */
export const A2A_ERR_TASK_NOT_FOUND = createError('A2A_ERR_TASK_NOT_FOUND', 'Task not found', 404)
/** The task has ended. */
export const A2A_ERR_NOT_CANCELABLE = createError<[string]>(
  'A2A_ERR_NOT_CANCELABLE',
  'The task cannot be canceled: it is %s',
  400
)
/** Push notifications are off. */
export const A2A_ERR_NO_PUSH = createError('A2A_ERR_NO_PUSH', 'Push notifications are not supported', 400)
/** The task, in its state, or this server cannot do it. */
export const A2A_ERR_UNSUPPORTED = createError<[string]>('A2A_ERR_UNSUPPORTED', 'Not supported: %s', 400)
/** A message does not name an extension that the card says is required. */
export const A2A_ERR_EXTENSION_REQUIRED = createError<[string]>(
  'A2A_ERR_EXTENSION_REQUIRED',
  'Required extensions are not named: %s',
  400
)
/** The content type of the request, or of a part, is not supported. */
export const A2A_ERR_CONTENT_TYPE = createError(
  'A2A_ERR_CONTENT_TYPE',
  'The content type is not supported: send application/json',
  415
)
/** There is no extended card. */
export const A2A_ERR_NO_EXTENDED_CARD = createError(
  'A2A_ERR_NO_EXTENDED_CARD',
  'No extended agent card is configured',
  400
)
/** The version of the protocol is not served. */
export const A2A_ERR_VERSION = createError<[string, string]>(
  'A2A_ERR_VERSION',
  'Version %s of the protocol is not served; %s is',
  400
)
/** No credentials, where there must be some. */
export const A2A_ERR_NO_TOKEN = createError('A2A_ERR_NO_TOKEN', 'Credentials are required', 401)
/** The credentials are bad. */
export const A2A_ERR_BAD_TOKEN = createError('A2A_ERR_BAD_TOKEN', 'The credentials are not valid', 401)
/** The caller may not do this. */
export const A2A_ERR_FORBIDDEN = createError<[string]>('A2A_ERR_FORBIDDEN', 'Not allowed%s', 403)
/** The body is larger than `limits.bodyLimit`. */
export const A2A_ERR_BODY_TOO_LARGE = createError('A2A_ERR_BODY_TOO_LARGE', 'The body is too large', 413)
/** Another A2A server cannot be reached, or refuses. */
export const A2A_ERR_REMOTE = createError<[string, ErrorOptions?]>(
  'A2A_ERR_REMOTE',
  'The remote agent failed: %s',
  502
)
/** Another A2A server answers what is no answer. */
export const A2A_ERR_BAD_ANSWER = createError<[string]>(
  'A2A_ERR_BAD_ANSWER',
  'The remote agent gave no valid answer: %s',
  502
)
