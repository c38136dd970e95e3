import type { FileStore } from '@svc/contract'

/** A stream that a file store reads. Its errors are those of its source, not of the store. */
export class WatchedContent implements AsyncIterable<Uint8Array> {
  readonly #content: AsyncIterable<Uint8Array>
  readonly #errors = new Set<unknown>()

  constructor(content: AsyncIterable<Uint8Array>) {
    this.#content = content
  }

  /** True if the source has thrown this. */
  hasThrown(err: unknown): boolean {
    return this.#errors.has(err)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const chunk of this.#content) yield chunk
    } catch (err) {
      this.#errors.add(err)
      throw err
    }
  }
}

/** Passes streams to a file store as `WatchedContent`. */
export function watchContent(files: FileStore): FileStore {
  return {
    put(runId, file, fence) {
      const { content } = file
      return files.put(
        runId,
        content instanceof Uint8Array ? file : { ...file, content: new WatchedContent(content) },
        fence
      )
    },
    get: (runId, fileId, range) => files.get(runId, fileId, range),
    remove: (runIds) => files.remove(runIds)
  }
}
