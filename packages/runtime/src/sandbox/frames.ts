const HEADER = 4

/** Encodes a message: the length of its JSON as a big-endian 32-bit integer, then the JSON. */
export function encodeFrame(json: string): Buffer {
  const frame = Buffer.allocUnsafe(HEADER + Buffer.byteLength(json))
  frame.writeUInt32BE(frame.length - HEADER, 0)
  frame.write(json, HEADER)
  return frame
}

/** Splits a byte stream into frames; never buffers a frame longer than `maxBytes`. */
export class FrameReader {
  maxBytes: number
  #chunks: Buffer[] = []
  #size = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** Adds a chunk, and yields the completed frames. @throws a RangeError if a frame is too long */
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

  // Only once a frame is complete, or a long one would be copied for each chunk.
  #join(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0]!
  }

  #keep(rest: Buffer): void {
    this.#chunks = rest.length > 0 ? [rest] : []
    this.#size = rest.length
  }
}
