import { createError } from '@svc/registry'

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
