import { createHash } from 'node:crypto'
import { RUN_ERR_FILE_LIMIT } from '@svc/contract/errors'

/** A file of a run. */
export interface FileRef {
  readonly runId: string
  readonly fileId: string
}

/** The bytes of files, apart from what is known about them. */
export interface FileBytes {
  /** Writes the content, or nothing. @throws the error of the content, or why it could not be written */
  write(file: FileRef, content: AsyncIterable<Uint8Array>): Promise<void>
  /** The number of bytes; undefined if there is no such file. */
  size(file: FileRef): Promise<number | undefined>
  /** The bytes from `start` up to `end`, which are read on iteration. @throws RUN_ERR_NOT_FOUND if they were removed since */
  read(file: FileRef, start: number, end: number): AsyncIterable<Uint8Array>
  /** Removes files, incomplete ones too; those that are not there count as removed. */
  remove(fileIds: readonly string[]): Promise<void>
  /** The ids of files, incomplete ones too: of all, or of some, and then the next list has those after them. */
  list(): AsyncIterable<string>
}

/** Bytes per read. */
export const PIECE = 262_144

/** Splits bytes, so that no piece occupies the event loop for long. */
async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
}

/** Bytes of files in process memory, for a database in memory. */
export function createBytesInMemory(): FileBytes {
  const files = new Map<string, Buffer>()
  return {
    async write({ fileId }, content) {
      const chunks: Uint8Array[] = []
      // The source may reuse its buffer.
      for await (const chunk of content) chunks.push(Uint8Array.from(chunk))
      files.set(fileId, Buffer.concat(chunks))
    },
    async size({ fileId }) {
      return files.get(fileId)?.length
    },
    read: ({ fileId }, start, end) => inPieces(files.get(fileId)!.subarray(start, end)),
    async remove(fileIds) {
      for (const fileId of fileIds) files.delete(fileId)
    },
    async *list() {
      yield* files.keys()
    }
  }
}

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
