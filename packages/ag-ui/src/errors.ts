import { createError } from '@svc/registry'

/** An option is unknown or has an invalid value. */
export const AGUI_ERR_BAD_OPTION = createError<[string]>('AGUI_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The plugin is already registered with this prefix. */
export const AGUI_ERR_REGISTERED_TWICE = createError<[string]>(
  'AGUI_ERR_REGISTERED_TWICE',
  '@svc/ag-ui is already registered with the %s: choose another prefix',
  500
)
/** The body is not valid JSON, or JSON that is not accepted. */
export const AGUI_ERR_BAD_JSON = createError<[string]>('AGUI_ERR_BAD_JSON', 'Bad JSON: %s', 400)
/** A query or a body does not match its schema. */
export const AGUI_ERR_BAD_REQUEST = createError<[string]>('AGUI_ERR_BAD_REQUEST', 'Bad request: %s', 400)
/** The last message cannot be the input of a run, or there is none. */
export const AGUI_ERR_BAD_MESSAGE = createError<[string]>(
  'AGUI_ERR_BAD_MESSAGE',
  'The last message cannot be sent: %s',
  400
)
/** Nothing in the request answers what a run of the thread has asked for. */
export const AGUI_ERR_NOTHING_ANSWERED = createError(
  'AGUI_ERR_NOTHING_ANSWERED',
  'The last tool messages answer no call that a run of the thread waits for',
  400
)
/** The request has no token. */
export const AGUI_ERR_NO_TOKEN = createError('AGUI_ERR_NO_TOKEN', 'A token is required', 401)
/** The token is not valid, for whatever reason. */
export const AGUI_ERR_INVALID_TOKEN = createError('AGUI_ERR_INVALID_TOKEN', 'The token is not valid', 401)
/** The caller lacks the scope. */
export const AGUI_ERR_MISSING_SCOPE = createError<[string]>(
  'AGUI_ERR_MISSING_SCOPE',
  'The scope "%s" is required',
  403
)
/** The policy forbids this. */
export const AGUI_ERR_FORBIDDEN = createError('AGUI_ERR_FORBIDDEN', 'This is not allowed', 403)
/** `userId` names another user. */
export const AGUI_ERR_FOREIGN_USER = createError('AGUI_ERR_FOREIGN_USER', 'userId must be your own', 403)
/** A page of another site sent the request, with cookies. */
export const AGUI_ERR_CROSS_ORIGIN = createError(
  'AGUI_ERR_CROSS_ORIGIN',
  'Not allowed for pages of another origin',
  403
)
/** No exposed runnable has this name. */
export const AGUI_ERR_UNKNOWN_RUNNABLE = createError<[string, string]>(
  'AGUI_ERR_UNKNOWN_RUNNABLE',
  'No %s "%s"',
  404
)
/** The run that is answered has ended, and has never waited for these answers. */
export const AGUI_ERR_RUN_ENDED = createError(
  'AGUI_ERR_RUN_ENDED',
  'The run that is answered has ended: send a new message',
  409
)
/** A run of the thread waits for the client, which sends a new message instead of the answer. */
export const AGUI_ERR_THREAD_WAITS = createError(
  'AGUI_ERR_THREAD_WAITS',
  'A run of the thread waits for an answer: send `resume`, or the results of its tool calls, or choose what happens with `forwardedProps.svc.whenBusy`',
  409
)
/** The body has more bytes than `bodyLimit`. */
export const AGUI_ERR_BODY_TOO_LARGE = createError(
  'AGUI_ERR_BODY_TOO_LARGE',
  'The body is too large: send fewer messages',
  413
)
/** The body is not plain JSON in UTF-8. */
export const AGUI_ERR_UNSUPPORTED_MEDIA_TYPE = createError<[string]>(
  'AGUI_ERR_UNSUPPORTED_MEDIA_TYPE',
  'Unsupported body: %s',
  415
)
/** The service failed; the log has the cause. */
export const AGUI_ERR_INTERNAL = createError('AGUI_ERR_INTERNAL', 'Internal Server Error', 500)
