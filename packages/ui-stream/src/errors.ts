import { createError } from '@svc/contract'
import { errors } from './surface-errors.ts'

export const {
  BadOption: UI_ERR_BAD_OPTION,
  RegisteredTwice: UI_ERR_REGISTERED_TWICE,
  BadJson: UI_ERR_BAD_JSON,
  BadRequest: UI_ERR_BAD_REQUEST,
  NoToken: UI_ERR_NO_TOKEN,
  InvalidToken: UI_ERR_INVALID_TOKEN,
  MissingScope: UI_ERR_MISSING_SCOPE,
  Forbidden: UI_ERR_FORBIDDEN,
  ForeignUser: UI_ERR_FOREIGN_USER,
  CrossOrigin: UI_ERR_CROSS_ORIGIN,
  UnknownRunnable: UI_ERR_UNKNOWN_RUNNABLE,
  BodyTooLarge: UI_ERR_BODY_TOO_LARGE,
  UnsupportedMedia: UI_ERR_UNSUPPORTED_MEDIA_TYPE,
  Internal: UI_ERR_INTERNAL,
  BadMessage: UI_ERR_BAD_MESSAGE
} = errors

/** No part of the last message answers what the run waits for. */
export const UI_ERR_NOTHING_ANSWERED = createError(
  'UI_ERR_NOTHING_ANSWERED',
  'No part of the last message answers what the run waits for: respond to an approval, or give the output of a tool',
  400
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
