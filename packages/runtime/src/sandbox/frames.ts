const HEADER = 4

/** A message as bytes: the length of its JSON, big-endian, and the JSON. */
export function encodeFrame(json: string): Buffer {
  const frame = Buffer.allocUnsafe(HEADER + Buffer.byteLength(json))
  frame.writeUInt32BE(frame.length - HEADER, 0)
  frame.write(json, HEADER)
  return frame
}

/** Cuts a stream of bytes into frames; nothing longer than `maxBytes` is ever kept. */
export class FrameReader {
  maxBytes: number
  #chunks: Buffer[] = []
  #size = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** The frames that are whole by now. @throws a RangeError when one is too long */
  *read(chunk: Buffer): Generator<string, void> {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    while (this.#size >= HEADER) {
      const length = this.#peek().readUInt32BE(0)
      if (length > this.maxBytes) throw new RangeError(`a frame of ${length} bytes`)
      if (this.#size < HEADER + length) return
      const all = this.#join()
      this.#keep(all.subarray(HEADER + length))
      yield all.toString('utf8', HEADER, HEADER + length)
    }
  }

  #peek(): Buffer {
    return this.#chunks[0]!.length >= HEADER ? this.#chunks[0]! : this.#join()
  }

  // Only when a frame is whole: a long one would else be copied for each of its pieces.
  #join(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0]!
  }

  #keep(rest: Buffer): void {
    this.#chunks = rest.length > 0 ? [rest] : []
    this.#size = rest.length
  }
}
