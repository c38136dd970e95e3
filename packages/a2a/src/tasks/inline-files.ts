import { toLoggable, type FileStore, type RunFile, type RunLog } from '@svc/contract'
import type { Artifact } from '../model/message.ts'
import type { InlineFiles } from '../model/requests.ts'

/** Bytes of the files in one reply. */
export const MAX_INLINE = 8_388_608

/** Reads the files of a store that have up to `maxBytes`. Those that cannot be read are logged, and referred to by their URL. */
export function createInlineFiles(files: FileStore, maxBytes: number, log: RunLog): InlineFiles {
  return {
    maxBytes,
    async read(runId, fileId) {
      try {
        const found = await files.get(runId, fileId)
        if (found === undefined || found.file.size > maxBytes) return undefined
        const pieces: Uint8Array[] = []
        for await (const bytes of found.content) pieces.push(bytes)
        const content = Buffer.concat(pieces)
        return content.length === found.file.size ? content.toString('base64') : undefined
      } catch (err) {
        log.error({ runId, fileId, err: toLoggable(err) }, 'a file cannot be read')
        return undefined
      }
    }
  }
}

/** True if a file is one of those that are read. */
export function isInline({ maxBytes }: InlineFiles, { fileId, size }: RunFile): boolean {
  return fileId !== undefined && size !== undefined && size <= maxBytes
}

/** The artifact of a file, with its bytes in place of its URL. */
export async function withBytes(
  artifact: Artifact,
  { fileId = '' }: RunFile,
  taskId: string,
  inline: InlineFiles
): Promise<Artifact> {
  const raw = await inline.read(taskId, fileId)
  if (raw === undefined) return artifact
  return {
    ...artifact,
    parts: artifact.parts.map((part) => {
      if (!('url' in part)) return part
      const { url: _, ...about } = part
      return { raw, ...about }
    })
  }
}
