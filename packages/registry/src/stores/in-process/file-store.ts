import { createHash } from 'node:crypto'
import { randomId, RUN_ERR_FILE_LIMIT, type FileStore, type NewFile, type StoredFile } from '@svc/contract'
import type { RunTable } from './run-table.ts'

/** The limits of a file store in process memory. */
export interface FileLimits {
  /** Bytes of all files. */
  readonly maxBytes: number
  /** True for a run in progress, whose files stay; default: none is. */
  readonly isLive?: (runId: string) => boolean
}

interface RunFiles {
  readonly files: Map<string, { file: StoredFile; bytes: Buffer }>
  size: number
}

/** Files in process memory. If a new one does not fit, those of ended runs go, the oldest run first. */
export function createInProcessFileStore(
  { maxBytes, isLive = () => false }: FileLimits,
  table: Pick<RunTable, 'requireEpoch'>
): FileStore {
  const runs = new Map<string, RunFiles>()
  let size = 0
  // Of the streams that are being read.
  let arriving = 0

  const drop = (runId: string) => {
    size -= runs.get(runId)?.size ?? 0
    runs.delete(runId)
  }
  const makeRoom = (runId: string, bytes: number) => {
    const removable: string[] = []
    let left = size + bytes - maxBytes
    for (const [other, run] of runs) {
      if (left <= 0) break
      if (other === runId || isLive(other)) continue
      removable.push(other)
      left -= run.size
    }
    // No file goes for one that does not fit anyway.
    if (left > 0) throw new RUN_ERR_FILE_LIMIT(maxBytes)
    for (const other of removable) drop(other)
  }
  const add = (runId: string, { mimeType, filename }: NewFile, bytes: Buffer): StoredFile => {
    makeRoom(runId, bytes.length)
    const file: StoredFile = {
      fileId: randomId(),
      mimeType,
      ...(filename !== undefined && { filename }),
      size: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      createdAt: Date.now()
    }
    let run = runs.get(runId)
    if (run === undefined) runs.set(runId, (run = { files: new Map(), size: 0 }))
    run.files.set(file.fileId, { file, bytes })
    run.size += bytes.length
    size += bytes.length
    return file
  }

  const collect = async (content: AsyncIterable<Uint8Array>) => {
    const chunks: Uint8Array[] = []
    let collected = 0
    try {
      for await (const chunk of content) {
        collected += chunk.length
        arriving += chunk.length
        if (arriving > maxBytes) throw new RUN_ERR_FILE_LIMIT(maxBytes)
        // The source may reuse its buffer.
        chunks.push(Uint8Array.from(chunk))
      }
      return Buffer.concat(chunks, collected)
    } finally {
      arriving -= collected
    }
  }

  return {
    put(runId, file, fence) {
      const { content } = file
      const keep = (bytes: Buffer) => {
        table.requireEpoch(fence)
        return add(runId, file, bytes)
      }
      return content instanceof Uint8Array ? keep(Buffer.from(content)) : collect(content).then(keep)
    },
    get(runId, fileId, { start, end } = { start: 0 }) {
      const found = runs.get(runId)?.files.get(fileId)
      if (found === undefined) return undefined
      const bytes = found.bytes.subarray(start, end)
      return {
        file: found.file,
        content: (async function* () {
          if (bytes.length > 0) yield bytes
        })()
      }
    },
    remove(runIds) {
      for (const runId of runIds) drop(runId)
    }
  }
}
