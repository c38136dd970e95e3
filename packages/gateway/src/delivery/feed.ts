import { isPromise, nextTurn, type LogEntry, type RunResult } from '@svc/contract'
import { RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import { formatPosition, loadResult, type EntryReader, type LogHost } from '@svc/surface'
import type { Outlet } from './outlet.ts'
import { projectPart, type Projection, type ServerEvent } from './project-part.ts'

/** Milliseconds of work in one turn of the event loop. */
const SLICE = 5

/** Bytes of a run whose result is sent at once. */
const MAX_WHOLE = 131_072
/** Larger ones, which Socket.IO encodes as a whole, are read and sent one after another. */
let sending: Promise<unknown> = Promise.resolve()

/** Options of a feed. */
export interface FeedOptions extends Omit<Projection, 'runId'> {
  readonly runs: LogHost
  /** Reads a run, or the runs of a session; closed with the feed. */
  readonly reader: EntryReader
  /** The session that the reader follows; its events have the place in it. */
  readonly sessionId?: string | undefined
  readonly outlet: Outlet
  emit(event: ServerEvent): void
  /** Called once, at the end of the run or the reader, or with the error if a log cannot be read. */
  ended(err?: unknown): void
}

/**
 * Sends one run, or one session, to one socket: reads the log when the connection accepts more, and keeps only its position. A slow client
 * holds back neither the run nor other readers.
 */
export class Feed {
  readonly #options: FeedOptions
  readonly #reader: EntryReader
  #closed = false
  // When the work of this turn of the event loop ends.
  #sliceEnd = 0

  constructor(options: FeedOptions) {
    this.#options = options
    this.#reader = options.reader
    if (options.parts) this.#reader.followTransients()
  }

  /** Emits until the connection is full or the log has no news, then waits for either. */
  readonly pump = (): void => {
    this.#sliceEnd = performance.now() + SLICE
    this.#flow()
  }

  close(): void {
    this.#closed = true
    this.#reader.close()
  }

  // A connection may accept more in the same turn of the event loop.
  readonly #flow = (): void => {
    try {
      while (!this.#closed) {
        if (!this.#options.outlet.writable) return this.#options.outlet.onWritable(this.#flow)
        // A long log leaves time to others.
        if (performance.now() > this.#sliceEnd) return void nextTurn().then(this.pump)
        const entries = this.#reader.read()
        if (isPromise(entries)) return this.#await(entries)
        if (!this.#take(entries)) return
      }
    } catch (err) {
      this.#end(err)
    }
  }

  #await(entries: Promise<readonly LogEntry[]>): void {
    entries
      .then((all) => {
        if (!this.#closed && this.#take(all)) this.#flow()
      })
      .catch((err: unknown) => this.#end(err))
  }

  // True if there may be more to read. `setImmediate` batches the wake-ups of one turn of the event loop.
  #take(entries: readonly LogEntry[]): boolean {
    for (const entry of entries) {
      if (this.#reader.endsRun && entry === entries.at(-1)) return this.#finish(entry)
      this.#emit(entry)
    }
    if (this.#reader.ended) {
      this.#endWithoutLast()
      return false
    }
    if (entries.length > 0) return true
    this.#emitTransients()
    this.#reader.onNews(() => setImmediate(this.pump))
    return false
  }

  #emitTransients(): void {
    const { kind, sessionId, emit } = this.#options
    const place = sessionId === undefined ? {} : { sessionId }
    for (const { part, runId = this.#reader.runId } of this.#reader.takeTransients())
      emit([`${kind}.part`, { runId, part, ...place }])
  }

  // The log has no last part: the run is suspended, its store fails, or it was removed. A session has no end of its own: its reader ends with the engine.
  #endWithoutLast(): void {
    const { sessionId, emit } = this.#options
    const { runId, suspended, fault, after } = this.#reader
    const isSuspended = suspended || (sessionId !== undefined && fault === undefined)
    if (!isSuspended) return this.#end(fault ?? new RUN_ERR_NOT_FOUND(runId))
    emit(
      sessionId === undefined
        ? ['run.suspended', { runId, seq: after }]
        : ['session.suspended', { sessionId }]
    )
    this.#end()
  }

  #finish(last: LogEntry): false {
    if (last.part.type !== 'finish') {
      this.#emitLast(last)
      return false
    }
    this.#finishWithResult(last).catch((err: unknown) => this.#end(err))
    return false
  }

  // The result has the full text of the run, and its files.
  async #finishWithResult(last: LogEntry): Promise<void> {
    const { stores } = this.#options.runs
    const run = await stores.runs.find(this.#reader.runId)
    const send = async () => {
      if (!this.#closed) this.#emitLast(last, run && (await loadResult(stores, run)))
    }
    if (run === undefined || run.bytes <= MAX_WHOLE) return send()
    const sent = sending.then(nextTurn).then(send)
    sending = sent.catch(() => {})
    return sent
  }

  #emitLast(last: LogEntry, result?: RunResult | null): void {
    if (this.#closed) return
    this.#emit(last, result ?? undefined)
    if (this.#options.sessionId === undefined) this.#end()
    else setImmediate(this.pump)
  }

  #emit({ seq, part }: LogEntry, result?: RunResult): void {
    const { kind, parts, exposeToolArgs, sessionId, emit } = this.#options
    const { runId, ordinal = 0 } = this.#reader
    const event = projectPart({ kind, parts, exposeToolArgs, runId }, part, result)
    if (event === undefined) return
    if (sessionId !== undefined) Object.assign(event[1], { sessionId, id: formatPosition({ ordinal, seq }) })
    emit(event)
  }

  #end(err?: unknown): void {
    if (this.#closed) return
    this.close()
    this.#options.ended(err)
  }
}
