import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { HTTP_ERR_UPLOAD_TOO_LARGE } from '../errors.ts'
import { resolveType, SAMPLE_SIZE } from './check-type.ts'
import type { UploadLimits } from './file-upload-options.ts'
import type { TempDirectory } from './temp-directory.ts'

/** A file of a form. */
export interface IncomingFile {
  /** In lower case. */
  readonly mimeType: string
  readonly content: AsyncIterable<Buffer>
}

/**
 * Streams a file to disk with back-pressure, and hashes it on the way. Nothing is written before its type is accepted.
 * @param maxSize bytes left for all files of the request
 * @throws HTTP_ERR_UPLOAD_TOO_LARGE, HTTP_ERR_UPLOAD_TYPE
 */
export async function storeFile(
  { mimeType: declared, content }: IncomingFile,
  limits: UploadLimits,
  maxSize: number,
  directory: TempDirectory
): Promise<{ path: string; size: number; sha256: string; mimeType: string }> {
  let file: { path: string; handle: FileHandle } | undefined
  let mimeType: string | undefined
  let sample: Buffer = Buffer.alloc(0)
  let size = 0
  const hash = createHash('sha256')

  const settleType = async () => {
    mimeType = await resolveType(declared, sample.subarray(0, SAMPLE_SIZE), limits.allowedMimeTypes)
    file = await directory.createFile()
    await file.handle.writeFile(sample)
    return file
  }

  try {
    for await (const chunk of content) {
      size += chunk.length
      if (size > limits.maxFileSize) throw new HTTP_ERR_UPLOAD_TOO_LARGE('a file is too large')
      if (size > maxSize) throw new HTTP_ERR_UPLOAD_TOO_LARGE('the files are too large together')
      hash.update(chunk)
      if (file !== undefined) await file.handle.writeFile(chunk)
      else if ((sample = Buffer.concat([sample, chunk])).length >= SAMPLE_SIZE) await settleType()
    }
    const { path } = file ?? (await settleType())
    return { path, size, sha256: hash.digest('hex'), mimeType: mimeType ?? declared }
  } finally {
    await file?.handle.close()
  }
}
