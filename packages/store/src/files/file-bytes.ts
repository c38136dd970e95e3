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
  /** The ids of all files, incomplete ones too. */
  list(): AsyncIterable<string>
}

/** Bytes per read. */
export const PIECE = 262_144

/** Splits bytes, so that no piece occupies the event loop for long. */
export async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
}
