/** Decodes the audio of a model's items: 16-bit samples in base64, whose pieces may split a sample. */
export class AudioDecoder {
  #itemId: string | undefined
  #rest: Buffer = Buffer.alloc(0)

  decode(itemId: string, base64: string): Int16Array {
    const piece = Buffer.from(base64, 'base64')
    const bytes =
      this.#itemId === itemId && this.#rest.length > 0 ? Buffer.concat([this.#rest, piece]) : piece
    const samples = new Int16Array(bytes.length >> 1)
    for (let at = 0; at < samples.length; at++) samples[at] = bytes.readInt16LE(at * 2)
    this.#itemId = itemId
    this.#rest = bytes.subarray(samples.length * 2)
    return samples
  }
}

/** Audio of the microphone in base64, until it belongs to a turn. */
export class KeptAudio {
  #frames: { readonly frame: string; readonly samples: number }[] = []
  #samples = 0

  /** The number of its samples. */
  get samples(): number {
    return this.#samples
  }

  get frames(): string[] {
    return this.#frames.map(({ frame }) => frame)
  }

  /** Adds audio, and drops the oldest that exceeds `bound` samples; returns the audio in base64. */
  add(audio: Int16Array, bound: number): string {
    const frame = toBase64(audio)
    this.#frames.push({ frame, samples: audio.length })
    this.#samples += audio.length
    let dropped = 0
    while (this.#samples > bound && dropped < this.#frames.length - 1) {
      this.#samples -= this.#frames[dropped++]!.samples
    }
    if (dropped > 0) this.#frames.splice(0, dropped)
    return frame
  }

  clear(): void {
    this.#frames = []
    this.#samples = 0
  }
}

/** Samples in base64, in frames of one second. @param rate Hz */
export function toFrames(samples: Int16Array, rate: number): string[] {
  const count = Math.ceil(samples.length / rate)
  return Array.from({ length: count }, (_, at) => toBase64(samples.subarray(at * rate, (at + 1) * rate)))
}

function toBase64({ buffer, byteOffset, byteLength }: Int16Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}
