import { mkdir, open, opendir, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { RUN_ERR_DAMAGED, RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import { PIECE, type FileBytes } from './file-bytes.ts'

// Of a file that is being written.
const PARTIAL = '.part'
const NAME = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})(?:\.part)?$/

/** Options of a folder of files. */
interface FolderOptions {
  /** True to wait for the disk before a file counts as written. */
  readonly synced: boolean
}

/**
 * Bytes of files in a folder, which is created with the first one and private to this user. Files are named by their ids; others in the
 * folder are left alone.
 */
export function createBytesInFolder(folder: string, { synced }: FolderOptions): FileBytes {
  const pathOf = (fileId: string) => join(folder, fileId)

  return {
    async write({ fileId }, content) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const path = pathOf(fileId)
      const partial = path + PARTIAL
      try {
        await writeTo(await open(partial, 'wx', 0o600), content, synced)
        await rename(partial, path)
        if (synced) await syncFolder(folder)
      } catch (err) {
        // What is left of it now is removed by the sweep.
        await rm(partial, { force: true }).catch(() => {})
        throw err
      }
    },
    size: async ({ fileId }) => (await ifThere(stat(pathOf(fileId))))?.size,
    async *read({ runId, fileId }, start, end) {
      if (start >= end) return
      const handle = await ifThere(open(pathOf(fileId)))
      if (handle === undefined) throw new RUN_ERR_NOT_FOUND(runId)
      try {
        for (let at = start; at < end;) {
          const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(PIECE, end - at)), {
            position: at
          })
          if (bytesRead === 0) throw new RUN_ERR_DAMAGED(`file ${fileId}`)
          yield buffer.subarray(0, bytesRead)
          at += bytesRead
        }
      } finally {
        await handle.close()
      }
    },
    async remove(fileIds) {
      for (const fileId of fileIds) {
        await rm(pathOf(fileId), { force: true })
        await rm(pathOf(fileId) + PARTIAL, { force: true })
      }
    },
    async *list() {
      const entries = await ifThere(opendir(folder))
      if (entries === undefined) return
      for await (const { name } of entries) {
        const [, fileId] = NAME.exec(name) ?? []
        if (fileId !== undefined) yield fileId
      }
    }
  }
}

async function writeTo(
  handle: FileHandle,
  content: AsyncIterable<Uint8Array>,
  synced: boolean
): Promise<void> {
  try {
    for await (const chunk of content) await handle.writeFile(chunk)
    if (synced) await handle.sync()
  } finally {
    await handle.close()
  }
}

// Makes the name of a new file durable.
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function ifThere<T>(opening: Promise<T>): Promise<T | undefined> {
  try {
    return await opening
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw err
  }
}
