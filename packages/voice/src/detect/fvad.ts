import loadFvad from '@echogarden/fvad-wasm'
import type { Awaitable } from '@svc/contract'
import { VOICE_ERR_BAD_DETECTOR } from '../errors.ts'

const RATE = 16_000
/** 20 ms. */
const FRAME = 320
const MODES: ReadonlySet<number> = new Set([0, 1, 2, 3])

/** Options of `fvad`. */
export interface FvadOptions {
  /** 0 to 3; the higher, the less is taken for speech. Default 3. */
  readonly mode?: 0 | 1 | 2 | 3
}

type Fvad = Awaited<ReturnType<typeof loadFvad>>

let loading: Promise<{ module: Fvad; frame: number }> | undefined

/**
 * The detector of WebRTC: costs 0.1 ms of CPU per second, and is good enough where there is little noise. Its probabilities are 0 and 1.
 * It needs nothing else to be installed.
 * @throws VOICE_ERR_BAD_DETECTOR
 */
export function fvad({ mode = 3 }: FvadOptions = {}): VoiceDetector {
  if (!MODES.has(mode)) throw new VOICE_ERR_BAD_DETECTOR(`the mode of fvad is 0 to 3, not ${mode}`)
  return {
    rate: RATE,
    frame: FRAME,
    async create() {
      loading ??= loadFvad().then((module) => ({ module, frame: module._malloc(FRAME * 2) }))
      const { module, frame } = await loading
      let vad = module._fvad_new()
      module._fvad_set_mode(vad, mode)
      module._fvad_set_sample_rate(vad, RATE)
      return {
        probability(samples) {
          module.HEAP16.set(samples, frame >> 1)
          return module._fvad_process(vad, frame, FRAME)
        },
        close() {
          if (vad !== 0) module._fvad_free(vad)
          vad = 0
        }
      }
    }
  }
}

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
