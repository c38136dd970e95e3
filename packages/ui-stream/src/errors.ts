import { createError } from '@svc/registry'

/** An option is unknown or has an invalid value. */
export const UI_ERR_BAD_OPTION = createError<[string]>('UI_ERR_BAD_OPTION', 'Bad option: %s', 500)
/** The plugin is already registered with this prefix. */
export const UI_ERR_REGISTERED_TWICE = createError<[string]>(
  'UI_ERR_REGISTERED_TWICE',
  '@svc/ui-stream is already registered with the %s: choose another prefix',
  500
)
/** The body is not valid JSON, or JSON that is not accepted. */
export const UI_ERR_BAD_JSON = createError<[string]>('UI_ERR_BAD_JSON', 'Bad JSON: %s', 400)
/** A query or a body does not match its schema. */
export const UI_ERR_BAD_REQUEST = createError<[string]>('UI_ERR_BAD_REQUEST', 'Bad request: %s', 400)
/** The last message cannot be the input of a run. */
export const UI_ERR_BAD_MESSAGE = createError<[string]>(
  'UI_ERR_BAD_MESSAGE',
  'The last message cannot be sent: %s',
  400
)
/** No part of the last message answers what the run waits for. */
export const UI_ERR_NOTHING_ANSWERED = createError(
  'UI_ERR_NOTHING_ANSWERED',
  'No part of the last message answers what the run waits for: respond to an approval, or give the output of a tool',
  400
)
/** The request has no token. */
export const UI_ERR_NO_TOKEN = createError('UI_ERR_NO_TOKEN', 'A token is required', 401)
/** The token is not valid, for whatever reason. */
export const UI_ERR_INVALID_TOKEN = createError('UI_ERR_INVALID_TOKEN', 'The token is not valid', 401)
/** The caller lacks the scope. */
export const UI_ERR_MISSING_SCOPE = createError<[string]>(
  'UI_ERR_MISSING_SCOPE',
  'The scope "%s" is required',
  403
)
/** The policy forbids this. */
export const UI_ERR_FORBIDDEN = createError('UI_ERR_FORBIDDEN', 'This is not allowed', 403)
/** `userId` names another user. */
export const UI_ERR_FOREIGN_USER = createError('UI_ERR_FOREIGN_USER', 'userId must be your own', 403)
/** A page of another site sent the request, with cookies. */
export const UI_ERR_CROSS_ORIGIN = createError(
  'UI_ERR_CROSS_ORIGIN',
  'Not allowed for pages of another origin',
  403
)
/** No exposed runnable has this name. */
export const UI_ERR_UNKNOWN_RUNNABLE = createError<[string, string]>(
  'UI_ERR_UNKNOWN_RUNNABLE',
  'No %s "%s"',
  404
)
/** The message to continue is of a run that has ended, and the client has seen its end. */
export const UI_ERR_RUN_ENDED = createError(
  'UI_ERR_RUN_ENDED',
  'The run of the last message has ended: send a new message',
  409
)
/** A run of the chat waits for the user, who sends a new message instead of the answer. */
export const UI_ERR_CHAT_WAITS = createError(
  'UI_ERR_CHAT_WAITS',
  'The last message waits for an answer: answer it, or choose what happens with `whenBusy`',
  409
)
/** The body has more bytes than `bodyLimit`. */
export const UI_ERR_BODY_TOO_LARGE = createError(
  'UI_ERR_BODY_TOO_LARGE',
  'The body is too large: send the last messages only',
  413
)
/** The body is not plain JSON in UTF-8. */
export const UI_ERR_UNSUPPORTED_MEDIA_TYPE = createError<[string]>(
  'UI_ERR_UNSUPPORTED_MEDIA_TYPE',
  'Unsupported body: %s',
  415
)
/** The service failed; the log has the cause. */
export const UI_ERR_INTERNAL = createError('UI_ERR_INTERNAL', 'Internal Server Error', 500)
