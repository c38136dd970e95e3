import {
  isTellable,
  RUN_ERR_DAMAGED,
  RUN_ERR_FILE_NOT_FOUND,
  RUN_ERR_FILES_NOT_KEPT,
  RUN_ERR_STORE,
  toLoggable,
  type FileStore,
  type RunLog,
  type StoredFile
} from '@svc/contract'
import type { ByteSpan } from './select-bytes.ts'

/** Where the files of runs are read, and where failures to read them are logged. */
export interface FileSource {
  /** The file store of the engine, if it has one. */
  readonly files: FileStore | undefined
  readonly log: RunLog
}

/** Describes a file of a run. @throws RUN_ERR_FILES_NOT_KEPT, RUN_ERR_FILE_NOT_FOUND, RUN_ERR_STORE */
export async function requireFile(
  { files }: Pick<FileSource, 'files'>,
  runId: string,
  fileId: string
): Promise<StoredFile> {
  if (files === undefined) throw new RUN_ERR_FILES_NOT_KEPT()
  const found = await files.get(runId, fileId)
  if (found === undefined) throw new RUN_ERR_FILE_NOT_FOUND(fileId)
  return found.file
}

/**
 * Reads exactly these bytes of a file, as they are asked for. Failures of the store are logged.
 * @throws RUN_ERR_FILE_NOT_FOUND, RUN_ERR_DAMAGED if the store has fewer bytes or more, RUN_ERR_STORE, and what the store throws for a
 * file that was removed meanwhile
 */
export async function* readBytes(
  { files, log }: FileSource,
  runId: string,
  fileId: string,
  { start, end }: ByteSpan
): AsyncGenerator<Uint8Array, void> {
  const found = await files?.get(runId, fileId, { start, end })
  if (found === undefined) throw new RUN_ERR_FILE_NOT_FOUND(fileId)
  let left = end - start
  try {
    for await (const bytes of found.content) {
      left -= bytes.length
      if (left < 0) break
      yield bytes
    }
  } catch (err) {
    if (isTellable(err)) throw err
    log.error({ runId, fileId, err: toLoggable(err) }, 'a file cannot be read')
    throw new RUN_ERR_STORE()
  }
  if (left !== 0) throw new RUN_ERR_DAMAGED(`the file "${fileId}" does not have its size`)
}
