import { createError } from '@svc/contract'
import { errors } from './surface-errors.ts'

export { A2A_ERR_BAD_TOKEN, A2A_ERR_CONTENT_TYPE, A2A_ERR_FORBIDDEN } from './surface-errors.ts'

export const {
  BadOption: A2A_ERR_BAD_OPTION,
  RegisteredTwice: A2A_ERR_REGISTERED_TWICE,
  BadJson: A2A_ERR_BAD_JSON,
  BadRequest: A2A_ERR_BAD_REQUEST,
  Internal: A2A_ERR_INTERNAL,
  NoToken: A2A_ERR_NO_TOKEN,
  BodyTooLarge: A2A_ERR_BODY_TOO_LARGE,
  Unsupported: A2A_ERR_UNSUPPORTED
} = errors

/** The server of gRPC cannot listen on its address. */
export const A2A_ERR_GRPC_LISTEN = createError<[string, ErrorOptions?]>(
  'A2A_ERR_GRPC_LISTEN',
  'gRPC cannot listen on %s',
  500
)
/** The message of a request over gRPC is not one of its type. */
export const A2A_ERR_BAD_PROTO = createError<[string]>('A2A_ERR_BAD_PROTO', 'Bad message: %s', 400)
/** No served version has this method. */
export const A2A_ERR_UNKNOWN_METHOD = createError<[string]>(
  'A2A_ERR_UNKNOWN_METHOD',
  'Unknown method %s',
  404
)
/** The parameters are invalid; `errors` lists the faults. */
export const A2A_ERR_BAD_PARAMS = createError<[string]>('A2A_ERR_BAD_PARAMS', 'Bad parameters: %s', 400)
/** The task does not exist, or belongs to another owner. */
export const A2A_ERR_TASK_NOT_FOUND = createError('A2A_ERR_TASK_NOT_FOUND', 'Task not found', 404)
/** The task has ended already. */
export const A2A_ERR_NOT_CANCELABLE = createError<[string]>(
  'A2A_ERR_NOT_CANCELABLE',
  'The task cannot be canceled: it is %s',
  400
)
/** Push notifications are turned off. */
export const A2A_ERR_NO_PUSH = createError('A2A_ERR_NO_PUSH', 'Push notifications are not supported', 400)
/** A message does not name a required extension. */
export const A2A_ERR_EXTENSION_REQUIRED = createError<[string]>(
  'A2A_ERR_EXTENSION_REQUIRED',
  'Required extensions are not named: %s',
  400
)
/** No extended card is configured. */
export const A2A_ERR_NO_EXTENDED_CARD = createError(
  'A2A_ERR_NO_EXTENDED_CARD',
  'No extended agent card is configured',
  400
)
/** The card of a remote A2A server has no valid signature. */
export const A2A_ERR_BAD_CARD = createError<[string]>(
  'A2A_ERR_BAD_CARD',
  'The card of the remote agent is not trusted: %s',
  502
)
/** This version of the protocol is not served. */
export const A2A_ERR_VERSION = createError<[string, string]>(
  'A2A_ERR_VERSION',
  'Version %s of the protocol is not served; %s is',
  400
)
/** A hook of the app refused the request; the status and the text are those of its error. */
export const A2A_ERR_REFUSED = createError<[string]>('A2A_ERR_REFUSED', '%s', 400)
/** A remote A2A server is unreachable, or refuses a request. */
export const A2A_ERR_REMOTE = createError<[string, ErrorOptions?]>(
  'A2A_ERR_REMOTE',
  'The remote agent failed: %s',
  502
)
/** A remote A2A server sends an invalid answer. */
export const A2A_ERR_BAD_ANSWER = createError<[string]>(
  'A2A_ERR_BAD_ANSWER',
  'The remote agent gave no valid answer: %s',
  502
)
