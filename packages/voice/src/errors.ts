import { createError } from '@svc/contract'

/** Audio is malformed, or of a format that cannot be read. */
export const VOICE_ERR_BAD_AUDIO = createError<[string]>('VOICE_ERR_BAD_AUDIO', 'Bad audio: %s', 422)
/** The speech model returned audio that cannot be read. */
export const VOICE_ERR_SPEECH_UNREADABLE = createError<[string]>(
  'VOICE_ERR_SPEECH_UNREADABLE',
  'The speech model returned audio that cannot be read: %s',
  502
)
/** The speech model sent no audio in time. */
export const VOICE_ERR_SPEECH_TIMEOUT = createError<[number]>(
  'VOICE_ERR_SPEECH_TIMEOUT',
  'The speech model sent no audio within %d ms',
  504
)
/** The transcription model sent no transcript in time. */
export const VOICE_ERR_TRANSCRIPTION_TIMEOUT = createError<[number]>(
  'VOICE_ERR_TRANSCRIPTION_TIMEOUT',
  'The transcription model sent no transcript within %d ms',
  504
)
/** A voice detector has a bad option, or its model cannot be loaded. */
export const VOICE_ERR_BAD_DETECTOR = createError<[string]>(
  'VOICE_ERR_BAD_DETECTOR',
  'Bad voice detector: %s',
  500
)

/** An option of a voice agent is invalid. */
export const VOICE_ERR_BAD_OPTION = createError<[string]>(
  'VOICE_ERR_BAD_OPTION',
  'Bad option of a voice agent: %s',
  500
)
/** The message has content that a voice agent cannot take; it takes texts and audio. */
export const VOICE_ERR_BAD_MESSAGE = createError<[string]>(
  'VOICE_ERR_BAD_MESSAGE',
  'A voice agent takes texts and audio, but no %s',
  400
)
/** A turn was committed with less than 100 milliseconds of audio. */
export const VOICE_ERR_COMMIT_TOO_SHORT = createError<[number]>(
  'VOICE_ERR_COMMIT_TOO_SHORT',
  'The turn has %d ms of audio, but needs 100',
  400
)
/** The client named a turn as another item of the call. */
export const VOICE_ERR_ITEM_EXISTS = createError<[string]>(
  'VOICE_ERR_ITEM_EXISTS',
  'The call has an item "%s" already: give the turn another id',
  409
)
/** No answer is under way, so none can be canceled. */
export const VOICE_ERR_NO_RESPONSE = createError('VOICE_ERR_NO_RESPONSE', 'No answer is under way', 409)
/** An answer was asked for, but the user has said nothing since the last one. */
export const VOICE_ERR_NOTHING_TO_ANSWER = createError(
  'VOICE_ERR_NOTHING_TO_ANSWER',
  'There is no turn to answer',
  409
)
/** The call was silent for `idle`, so it ended. */
export const VOICE_ERR_IDLE = createError<[number]>('VOICE_ERR_IDLE', 'The call was silent for %d ms', 408)
/** The call took longer than `timeout.call`, so it ended. */
export const VOICE_ERR_CALL_TIMEOUT = createError<[number]>(
  'VOICE_ERR_CALL_TIMEOUT',
  'The call took longer than %d ms',
  504
)
