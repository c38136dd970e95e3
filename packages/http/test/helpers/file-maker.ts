import { defineRunnable, type FileStore, type NewFile, type StoredFile } from '@svc/registry'

/** An agent whose run keeps a file. */
export function makerOf(file: NewFile) {
  return defineRunnable({
    kind: 'agent',
    name: 'maker',
    async *stream(_input, { runId, stores }) {
      const { createdAt: _, ...kept } = await stores.files!.put(runId, file)
      yield { type: 'file', ...kept }
    }
  })
}

/** A file store with one file, and how it is read. */
export interface ReadFiles extends FileStore {
  /** Reads that have begun and are not over. */
  readonly open: number
  /** Bytes that were read. */
  readonly bytes: number
  /** Resolves once what was read first is over. */
  readonly over: Promise<void>
}

/** A file store that reads its one file from `content`. */
export function filesOf(size: number, content: () => AsyncIterable<Uint8Array>): ReadFiles {
  const file: StoredFile = { fileId: 'f', mimeType: 'text/csv', size, sha256: 'ab', createdAt: 0 }
  let open = 0
  let bytes = 0
  const { promise: over, resolve } = Promise.withResolvers<void>()
  async function* read() {
    open++
    try {
      for await (const chunk of content()) {
        bytes += chunk.length
        yield chunk
      }
    } finally {
      if (--open === 0) resolve()
    }
  }
  return {
    get open() {
      return open
    },
    get bytes() {
      return bytes
    },
    over,
    put: () => file,
    get: (_runId, fileId) => (fileId === 'f' ? { file, content: read() } : undefined),
    remove() {}
  }
}
