import { ProtocolError } from '../events/protocol-error.ts'
import type { AudioFormat } from '@svc/contract'

/** The least audio of a commit. */
const MIN_COMMIT_MS = 100
/** Bytes of the pieces of longer audio: a call takes no larger frames. */
const MAX_FRAME = 65_536
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The length of the audio that a client appended since the last turn. */
export class AudioBuffer {
  #ms = 0

  /**
   * Decodes and counts audio.
   * @returns it in frames of at most 64 KiB
   * @throws ProtocolError unless it is base64 of whole samples
   */
  append(base64: string, { type, rate }: AudioFormat): Uint8Array[] {
    const bytesPerSample = type === 'audio/pcm' ? 2 : 1
    const audio = decode(base64)
    if (audio.byteLength % bytesPerSample !== 0)
      throw new ProtocolError(
        'invalid_value',
        `Invalid 'audio': ${audio.byteLength} bytes are not a whole number of 16-bit samples.`,
        'audio'
      )
    this.#ms += (audio.byteLength / bytesPerSample / rate) * 1_000
    if (audio.byteLength <= MAX_FRAME) return [audio]
    const frames: Uint8Array[] = []
    for (let start = 0; start < audio.byteLength; start += MAX_FRAME)
      frames.push(audio.subarray(start, start + MAX_FRAME))
    return frames
  }

  /** A turn took what was appended, or it was discarded. */
  clear(): void {
    this.#ms = 0
  }

  /** Checks that the audio is long enough for a turn. @throws ProtocolError */
  requireTurn(): void {
    if (this.#ms >= MIN_COMMIT_MS) return
    throw new ProtocolError(
      'input_audio_buffer_commit_empty',
      `The input audio buffer has ${Math.round(this.#ms)} ms of audio, a turn needs at least ${MIN_COMMIT_MS} ms.`
    )
  }
}

function decode(base64: string): Buffer {
  if (base64 === '' || base64.length % 4 !== 0 || !BASE64.test(base64))
    throw new ProtocolError('invalid_value', "Invalid 'audio': expected base64-encoded bytes.", 'audio')
  return Buffer.from(base64, 'base64')
}
