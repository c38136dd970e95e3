import { inPieces, type FileBytes } from './file-bytes.ts'

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
