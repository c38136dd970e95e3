import { Socket } from 'node:net'

type Written = (err?: Error | null) => void

/** A socket that reports its bytes as they pass, in both directions. */
export class MeteredSocket extends Socket {
  readonly #count: (bytes: number) => void

  /** @param count called with the bytes of each chunk; may destroy the socket */
  constructor(count: (bytes: number) => void) {
    super({ allowHalfOpen: true })
    this.#count = count
  }

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    if (chunk !== null) this.#count(chunk.length)
    return super.push(chunk, encoding)
  }

  // Not `write`: `connect` replaces it.
  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Written): void {
    this.#count(sizeOf(chunk, encoding))
    // oxlint-disable-next-line no-underscore-dangle -- the methods that streams are implemented with
    super._write(chunk, encoding, done)
  }

  override _writev(chunks: { chunk: Buffer | string; encoding: BufferEncoding }[], done: Written): void {
    this.#count(chunks.reduce((sum, { chunk, encoding }) => sum + sizeOf(chunk, encoding), 0))
    // oxlint-disable-next-line no-underscore-dangle -- as above
    super._writev!(chunks, done)
  }
}

function sizeOf(chunk: Buffer | string, encoding: BufferEncoding): number {
  return typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.length
}
