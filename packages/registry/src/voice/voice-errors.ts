import { createError } from '../contract/create-error.ts'

/** The named runnable cannot be called. */
export const VOICE_ERR_NOT_A_VOICE = createError<[kind: string, name: string]>(
  'VOICE_ERR_NOT_A_VOICE',
  'The %s "%s" is not a voice agent, so it cannot be called',
  400
)
/** An audio format that no call takes. */
export const VOICE_ERR_BAD_FORMAT = createError<[string]>(
  'VOICE_ERR_BAD_FORMAT',
  'Unsupported audio format: %s',
  400
)
/** A frame is not audio of the call's input format. */
export const VOICE_ERR_BAD_FRAME = createError<[string]>('VOICE_ERR_BAD_FRAME', 'Bad audio frame: %s', 400)
/** A frame has more than 65,536 bytes. */
export const VOICE_ERR_FRAME_TOO_LARGE = createError<[bytes: number]>(
  'VOICE_ERR_FRAME_TOO_LARGE',
  'The audio frame has %d bytes, at most 65536 are allowed',
  413
)
/** More than 10 seconds of audio came within 5 seconds; the frame is discarded. */
export const VOICE_ERR_TOO_FAST = createError(
  'VOICE_ERR_TOO_FAST',
  'The audio arrives faster than twice real time',
  429
)
/** The call does not keep up with its input; the input is discarded. */
export const VOICE_ERR_INPUT_FULL = createError(
  'VOICE_ERR_INPUT_FULL',
  'The call does not keep up with its input',
  503
)
/** A position names an answer that the call did not send, or sent long ago. */
export const VOICE_ERR_UNKNOWN_ITEM = createError<[string]>(
  'VOICE_ERR_UNKNOWN_ITEM',
  'No answer "%s" was sent',
  404
)
/** A position is beyond the audio that was sent. */
export const VOICE_ERR_BAD_POSITION = createError<[itemId: string, ms: number]>(
  'VOICE_ERR_BAD_POSITION',
  'Of the answer "%s" only %d ms were sent',
  400
)
/** `after` is not the position of an output of the call. */
export const VOICE_ERR_BAD_AFTER = createError<[last: number]>(
  'VOICE_ERR_BAD_AFTER',
  '"after" must be the position of an output, at most %d',
  400
)
/** The outputs after the position are no longer kept, so the call cannot be resumed without a gap. */
export const VOICE_ERR_OUTPUT_GONE = createError<[first: number]>(
  'VOICE_ERR_OUTPUT_GONE',
  'Outputs are kept from position %d on: resume without "after", or after a later one',
  410
)
/** The call has ended, or another process has it. */
export const VOICE_ERR_CALL_ENDED = createError<[runId: string]>(
  'VOICE_ERR_CALL_ENDED',
  'The call "%s" is not in progress here',
  410
)
