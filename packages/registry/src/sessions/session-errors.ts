import { createError } from '../contract/create-error.ts'

/** There is no such session, or it has another owner. */
export const RUN_ERR_SESSION_NOT_FOUND = createError<[sessionId: string]>(
  'RUN_ERR_SESSION_NOT_FOUND',
  'No session "%s"',
  404
)
/** A field of a session is invalid; `errors` lists the faults. */
export const RUN_ERR_BAD_SESSION = createError<[string]>('RUN_ERR_BAD_SESSION', '%s', 400)
/** The stores of the engine keep no list of sessions. */
export const RUN_ERR_SESSIONS_NOT_KEPT = createError(
  'RUN_ERR_SESSIONS_NOT_KEPT',
  'No list of sessions is kept here',
  404
)
/** Not a place in the channel of this session. */
export const RUN_ERR_BAD_POSITION = createError(
  'RUN_ERR_BAD_POSITION',
  'Not a place in this session: send the id of a message of its stream',
  400
)
/** The log of a run in the channel is no longer kept. */
export const RUN_ERR_LOG_GONE = createError(
  'RUN_ERR_LOG_GONE',
  'The log there is no longer kept: read the messages of the session, and follow it from their lastEventId',
  410
)
