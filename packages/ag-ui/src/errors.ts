import { createError } from '@svc/contract'
import { errors } from './surface-errors.ts'

export const {
  BadOption: AGUI_ERR_BAD_OPTION,
  RegisteredTwice: AGUI_ERR_REGISTERED_TWICE,
  BadJson: AGUI_ERR_BAD_JSON,
  BadRequest: AGUI_ERR_BAD_REQUEST,
  NoToken: AGUI_ERR_NO_TOKEN,
  InvalidToken: AGUI_ERR_INVALID_TOKEN,
  MissingScope: AGUI_ERR_MISSING_SCOPE,
  Forbidden: AGUI_ERR_FORBIDDEN,
  ForeignUser: AGUI_ERR_FOREIGN_USER,
  CrossOrigin: AGUI_ERR_CROSS_ORIGIN,
  UnknownRunnable: AGUI_ERR_UNKNOWN_RUNNABLE,
  BodyTooLarge: AGUI_ERR_BODY_TOO_LARGE,
  UnsupportedMedia: AGUI_ERR_UNSUPPORTED_MEDIA_TYPE,
  Internal: AGUI_ERR_INTERNAL,
  BadMessage: AGUI_ERR_BAD_MESSAGE
} = errors

/** Nothing in the request answers what a run of the thread has asked for. */
export const AGUI_ERR_NOTHING_ANSWERED = createError(
  'AGUI_ERR_NOTHING_ANSWERED',
  'The last tool messages answer no call that a run of the thread waits for',
  400
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
