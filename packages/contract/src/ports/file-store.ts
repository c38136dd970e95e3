import type { Awaitable } from '../awaitable.ts'
import type { RunFence } from './nodes.ts'

/** A file of a run, without its bytes. */
export interface StoredFile {
  /** Unique within its run. */
  readonly fileId: string
  readonly mimeType: string
  readonly filename?: string
  /** Bytes. */
  readonly size: number
  /** Of the bytes, in lower-case hexadecimal digits. */
  readonly sha256: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

/** A file to keep. */
export interface NewFile {
  readonly mimeType: string
  readonly filename?: string | undefined
  /** The bytes, or a stream of them. */
  readonly content: Uint8Array | AsyncIterable<Uint8Array>
}

/** A part of a file, in bytes; what lies beyond its end is left out. */
export interface ByteRange {
  /** The first byte, counted from 0. */
  readonly start: number
  /** The byte after the last one; default: the end of the file. */
  readonly end?: number
}

/** Keeps what runs, their models and their tools make: images, audio, screenshots, downloads. A log refers to it by `fileId`. */
export interface FileStore {
  /**
   * Keeps a file of a run.
   * @throws RUN_ERR_FILE_LIMIT if it exceeds the limits of the store, which then keeps none of it; RUN_ERR_FENCED as `RunFence` says; the
   * error of its stream
   */
  put(runId: string, file: NewFile, fence?: RunFence): Awaitable<StoredFile>
  /**
   * A file with its bytes or a range of them, which are read only on iteration; undefined if there is none. Callers must not change
   * the bytes.
   */
  get(
    runId: string,
    fileId: string,
    range?: ByteRange
  ): Awaitable<{ file: StoredFile; content: AsyncIterable<Uint8Array> } | undefined>
  /** Removes all files of these runs. */
  remove(runIds: readonly string[]): Awaitable<void>
}
