import type { Awaitable } from '@svc/contract'

/** Finds speech in audio: the port behind the turns of a call. One detector serves any number of calls. */
export interface VoiceDetector {
  /** Hz of the audio that it takes. */
  readonly rate: number
  /** Samples of one frame. */
  readonly frame: number
  /**
   * Begins the audio of one call. What takes time to load is loaded by the first one, and kept.
   * @throws RUN_ERR_NOT_INSTALLED, VOICE_ERR_BAD_DETECTOR
   */
  create(): Awaitable<VoiceDetection>
}

/** The audio of one call. */
export interface VoiceDetection {
  /**
   * The probability of speech in the next frame, 0 to 1. The caller may reuse the frame as soon as the result is there, and does
   * not ask for another before.
   */
  probability(frame: Int16Array): Awaitable<number>
  /** Releases what it holds; safe to call twice. */
  close(): void
}

/** Estimates whether the user has finished, or only pauses; asked after `silence`. */
export interface TurnDetector {
  /** The probability that the turn is over, 0 to 1; from 0.5 it is. A failure counts as 1. */
  probability(turn: SpokenTurn, signal: AbortSignal): Awaitable<number>
}

/** What the user said so far, at a pause. */
export interface SpokenTurn {
  /** Its words, if the transcription streams; else empty. */
  readonly transcript: string
  /** Its audio; at most the last 8 seconds. */
  readonly audio: Int16Array
  /** Hz of the audio; that of the voice detector. */
  readonly rate: number
}
