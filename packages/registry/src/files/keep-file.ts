import { toLoggable, type PartOf, type RunContext } from '@svc/contract'

/** A file that a run made, such as its model, a tool or a remote agent. */
export interface MadeFile {
  readonly mimeType: string
  readonly filename?: string
  /** Bytes, or base64. */
  readonly data: Uint8Array | string
  readonly purpose?: string
  readonly toolCallId?: string
}

/**
 * Keeps a file in the file store of a run, and returns its part. Without a file store, or if it does not take the file, the part has
 * no `fileId`: the run continues.
 */
export async function keepFile(
  { runId, stores, log }: Pick<RunContext, 'runId' | 'stores' | 'log'>,
  { data, ...given }: MadeFile
): Promise<PartOf<'file'>> {
  const content = typeof data === 'string' ? Buffer.from(data, 'base64') : data
  const { mimeType, filename } = given
  // Names of pages and tools may have half a surrogate pair.
  const file = filename === undefined ? given : { ...given, filename: filename.toWellFormed() }
  try {
    const kept = await stores.files?.put(runId, { mimeType, filename: file.filename, content })
    if (kept !== undefined) {
      const { fileId, size, sha256 } = kept
      return { type: 'file', fileId, ...file, size, sha256 }
    }
  } catch (err) {
    log.warn({ runId, size: content.length, err: toLoggable(err) }, 'a file of the run is not kept')
  }
  return { type: 'file', ...file, size: content.length, sha256: await sha256Of(content) }
}

/** The SHA-256 of bytes, in hexadecimal digits. */
export async function sha256Of(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString('hex')
}
