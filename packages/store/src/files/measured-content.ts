import { createHash } from 'node:crypto'
import { RUN_ERR_FILE_LIMIT } from '@svc/contract'
import { inPieces } from './file-bytes.ts'

/** How many bytes a file may have, and the limit that says so. */
export interface Allowance {
  readonly bytes: number
  readonly limit: number
}

/** The content of a file, measured and hashed while it is read, once. */
export class MeasuredContent implements AsyncIterable<Uint8Array> {
  readonly #pieces: AsyncIterable<Uint8Array>
  readonly #allowance: Allowance
  readonly #hash = createHash('sha256')
  #size = 0

  constructor(content: Uint8Array | AsyncIterable<Uint8Array>, allowance: Allowance) {
    this.#pieces = content instanceof Uint8Array ? inPieces(content) : content
    this.#allowance = allowance
  }

  /** Bytes so far. */
  get size(): number {
    return this.#size
  }

  /** The hash of all bytes, in hexadecimal digits; call it once, after the last one. */
  sha256(): string {
    return this.#hash.digest('hex')
  }

  /** @throws RUN_ERR_FILE_LIMIT, the error of the content */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    for await (const piece of this.#pieces) {
      this.#size += piece.length
      if (this.#size > this.#allowance.bytes) throw new RUN_ERR_FILE_LIMIT(this.#allowance.limit)
      this.#hash.update(piece)
      yield piece
    }
  }
}
