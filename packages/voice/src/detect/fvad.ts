import loadFvad from '@echogarden/fvad-wasm'
import { VOICE_ERR_BAD_DETECTOR } from '../errors.ts'
import type { VoiceDetector } from './detector.ts'

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
