import {
  bytesPerSample,
  durationOf,
  VOICE_ERR_BAD_FRAME,
  VOICE_ERR_FRAME_TOO_LARGE,
  VOICE_ERR_TOO_FAST,
  type AudioFormat
} from '@svc/contract'

/** Bytes of a frame. */
const MAX_FRAME = 65_536
/** Milliseconds of a slot, and the number of slots that are counted. */
const SLOT = 500
const SLOTS = 10
/** Milliseconds of audio within all slots. */
const MAX_AUDIO = 2 * SLOT * SLOTS

/** Checks the audio that a client sends: whole samples, frames of at most 64 KiB, at most twice real time over 5 seconds. */
export class AudioIntake {
  /** The format of the next frame. */
  format: AudioFormat
  // Milliseconds of audio by slot of the clock; the oldest slot is reused.
  readonly #slots = new Float64Array(SLOTS)
  #slot = 0

  constructor(format: AudioFormat) {
    this.format = format
  }

  /**
   * Counts a frame.
   * @param now milliseconds of a monotonic clock
   * @throws VOICE_ERR_BAD_FRAME, VOICE_ERR_FRAME_TOO_LARGE, VOICE_ERR_TOO_FAST
   */
  take(audio: unknown, now = performance.now()): void {
    if (!(audio instanceof Uint8Array)) throw new VOICE_ERR_BAD_FRAME('it is not binary')
    const { byteLength } = audio
    if (byteLength === 0) throw new VOICE_ERR_BAD_FRAME('it is empty')
    if (byteLength > MAX_FRAME) throw new VOICE_ERR_FRAME_TOO_LARGE(byteLength)
    if (byteLength % bytesPerSample(this.format) !== 0)
      throw new VOICE_ERR_BAD_FRAME(`${byteLength} bytes are not a whole number of 16-bit samples`)
    this.#count(durationOf(this.format, byteLength), Math.floor(now / SLOT))
  }

  #count(ms: number, slot: number): void {
    const slots = this.#slots
    const passed = Math.min(slot - this.#slot, SLOTS)
    for (let back = 0; back < passed; back++) slots[(slot - back) % SLOTS] = 0
    this.#slot = slot
    if (slots.reduce((sum, each) => sum + each, ms) > MAX_AUDIO) throw new VOICE_ERR_TOO_FAST()
    slots[slot % SLOTS]! += ms
  }
}
