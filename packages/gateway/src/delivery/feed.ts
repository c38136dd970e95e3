import { RUN_ERR_NOT_FOUND, type LogEntry } from '@svc/registry'
import { isPromise, loadResult, LogReader, type LogHost } from '@svc/registry/kit'
import type { Outlet } from './outlet.ts'
import { projectPart, type Projection, type ServerEvent } from './project-part.ts'

/** What a feed is made with. */
export interface FeedOptions extends Projection {
  readonly runs: LogHost
  /** The `seq` after which it begins. */
  readonly after: number
  readonly outlet: Outlet
  emit(event: ServerEvent): void
  /** There is nothing to come, or nothing could be read: then with the error. */
  ended(err?: unknown): void
}

/**
 * Tells one socket of one run: it reads from the log when the connection takes more, and holds nothing but its place. A
 * client that does not read holds back neither the run nor another reader.
 */
export class Feed {
  readonly #options: FeedOptions
  readonly #reader: LogReader
  #closed = false

  constructor(options: FeedOptions) {
    this.#options = options
    this.#reader = new LogReader(options.runs, options.runId, options.after)
  }

  /** Goes on until the connection or the log has nothing more; then it waits for the one or the other. */
  readonly pump = (): void => {
    try {
      while (!this.#closed) {
        if (!this.#options.outlet.writable) return this.#options.outlet.onWritable(this.pump)
        const entries = this.#reader.read()
        if (isPromise(entries)) return this.#await(entries)
        if (!this.#take(entries)) return
      }
    } catch (err) {
      this.#end(err)
    }
  }

  close(): void {
    this.#closed = true
    this.#reader.close()
  }

  #await(entries: Promise<readonly LogEntry[]>): void {
    entries
      .then((all) => {
        if (!this.#closed && this.#take(all)) this.pump()
      })
      .catch((err: unknown) => this.#end(err))
  }

  // Whether there may be more to read. Wake-ups of one turn of the event loop become one batch.
  #take(entries: readonly LogEntry[]): boolean {
    for (const entry of entries) {
      if (this.#reader.ended && entry === entries.at(-1)) return this.#finish(entry)
      this.#tell(entry)
    }
    if (this.#reader.ended) {
      this.#leave()
      return false
    }
    if (entries.length === 0) this.#reader.onNews(() => setImmediate(this.pump))
    return entries.length > 0
  }

  // The log has no last part: the run is suspended, its store fails, or it is gone.
  #leave(): void {
    const { runId, emit } = this.#options
    const { suspended, fault, after } = this.#reader
    if (suspended) emit(['run.suspended', { runId, seq: after }])
    this.#end(suspended ? undefined : (fault ?? new RUN_ERR_NOT_FOUND(runId)))
  }

  #finish(last: LogEntry): false {
    if (last.part.type !== 'finish') {
      this.#tell(last)
      this.#end()
      return false
    }
    this.#readText()
      .then((text) => this.#tellEnd(last, text))
      .catch((err: unknown) => this.#end(err))
    return false
  }

  // What a run said in all is in its result.
  async #readText(): Promise<string | undefined> {
    const { runs, runId } = this.#options
    const run = await runs.stores.runs.find(runId)
    return run && (await loadResult(runs.stores, run))?.text
  }

  #tellEnd(last: LogEntry, text: string | undefined): void {
    if (this.#closed) return
    this.#tell(last, text)
    this.#end()
  }

  #tell({ part }: LogEntry, text?: string): void {
    const event = projectPart(this.#options, part, text)
    if (event !== undefined) this.#options.emit(event)
  }

  #end(err?: unknown): void {
    if (this.#closed) return
    this.close()
    this.#options.ended(err)
  }
}
