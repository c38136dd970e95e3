/** Cuts a stream of samples into frames of one length. Each sample is copied once; a frame belongs to its receiver. */
export class FrameCutter {
  readonly #length: number
  readonly #take: (frame: Int16Array) => void
  #frame: Int16Array
  #filled = 0

  /** @param length samples of a frame */
  constructor(length: number, take: (frame: Int16Array) => void) {
    this.#length = length
    this.#take = take
    this.#frame = new Int16Array(length)
  }

  push(samples: Int16Array): void {
    for (let at = 0; at < samples.length;) {
      const part = samples.subarray(at, at + this.#length - this.#filled)
      this.#frame.set(part, this.#filled)
      this.#filled += part.length
      at += part.length
      if (this.#filled === this.#length) this.#release()
    }
  }

  /** Samples of the frame that has begun. */
  get filled(): number {
    return this.#filled
  }

  /** Fills the last frame with silence; nothing if no frame has begun. */
  flush(): void {
    if (this.#filled > 0) this.#release()
  }

  /** Discards the frame that has begun. */
  clear(): void {
    this.#frame.fill(0, 0, this.#filled)
    this.#filled = 0
  }

  #release(): void {
    const frame = this.#frame
    this.#frame = new Int16Array(this.#length)
    this.#filled = 0
    this.#take(frame)
  }
}

/** Joins samples into one array. */
export function joinSamples(pieces: readonly Int16Array[]): Int16Array<ArrayBuffer> {
  const joined = new Int16Array(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}
