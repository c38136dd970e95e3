import {
  isPromise,
  nextTurn,
  type Awaitable,
  type LogEntry,
  type RunResult,
  type RunSummary
} from '@svc/contract'
import { RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import { TextEntry } from '@svc/contract/stores'
import {
  formatPosition,
  loadResult,
  PartialNotice,
  typeOfEntry,
  type EntryReader,
  type LogHost
} from '@svc/surface'
import type { Outlet } from './outlet.ts'
import { ChunkEncoder, hasEvent, projectPart, type Projection, type ServerEvent } from './project-part.ts'

/** Milliseconds of work in one turn of the event loop. */
const SLICE = 5

/** Bytes of a run whose result is sent at once. */
const MAX_WHOLE = 131_072
/** Larger ones, which are encoded as a whole, are read and sent one after another. */
let sending: Promise<unknown> = Promise.resolve()

/** The JSON of the events of entries that were read: sockets that follow the same run get the same ones. */
interface SharedEvents extends Pick<FeedOptions, 'runs' | 'parts' | 'exposeToolArgs' | 'sessionId'> {
  readonly runId: string
  /** The `seq` of the first entry. */
  readonly first: number
  /** By entry, '' for none; those that a socket has encoded already. */
  readonly events: string[]
}
// Of the last read: the sockets that follow a run read one after another.
let shared: SharedEvents | undefined

/** Options of a feed. */
export interface FeedOptions extends Omit<Projection, 'runId'> {
  readonly runs: LogHost
  /** Reads a run, or the runs of a session; closed with the feed. */
  readonly reader: EntryReader
  /** The session that the reader follows; its events have the place in it. */
  readonly sessionId?: string | undefined
  readonly outlet: Outlet
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
  #chunks: ChunkEncoder | undefined
  #closed = false
  // When the work of this turn of the event loop ends.
  #sliceEnd = 0

  constructor(options: FeedOptions) {
    this.#options = options
    this.#reader = options.reader
    if (options.parts) this.#reader.followTransients()
  }

  /** At the end of this turn of the event loop, emits until the connection is full or the log has no news, then waits for either. */
  readonly pump = (): void => this.#options.outlet.atTurnEnd(this.#pumpNow)

  readonly #pumpNow = (): void => {
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
        if (performance.now() > this.#sliceEnd) return this.#pause()
        const entries = this.#reader.read()
        if (isPromise(entries)) return this.#await(entries)
        if (!this.#take(entries)) return
      }
    } catch (err) {
      this.#end(err)
    }
  }

  #pause(): void {
    void nextTurn().then(() => this.#options.outlet.together(this.#pumpNow))
  }

  #await(entries: Promise<readonly LogEntry[]>): void {
    entries
      .then((all) => {
        if (!this.#closed) this.#options.outlet.together(() => this.#take(all) && this.#flow())
      })
      .catch((err: unknown) => this.#end(err))
  }

  // True if there may be more to read. The news of one turn of the event loop are read together.
  #take(entries: readonly LogEntry[]): boolean {
    const end = this.#reader.endsRun ? entries.length - 1 : entries.length
    if (end > 0) this.#emitAll(entries, this.#share(entries[0]!.seq), end)
    if (end < entries.length) return this.#finish(entries[end]!)
    if (this.#reader.ended) {
      this.#endWithoutLast()
      return false
    }
    if (entries.length > 0) return true
    this.#emitTransients()
    this.#reader.onNews(this.pump)
    return false
  }

  #emitTransients(): void {
    const { kind, sessionId } = this.#options
    const place = sessionId === undefined ? {} : { sessionId }
    for (const notice of this.#reader.takeTransients()) {
      const { part, runId = this.#reader.runId } = notice
      if (notice instanceof PartialNotice)
        this.#send([`${kind}.partial`, { runId, value: part.value, ...place }])
      else this.#send([`${kind}.part`, { runId, part, ...place }])
    }
  }

  // The log has no last part: the run is suspended, its store fails, or it was removed. A session has no end of its own: its reader ends with the engine.
  #endWithoutLast(): void {
    const { sessionId } = this.#options
    const { runId, suspended, fault, after } = this.#reader
    const isSuspended = suspended || (sessionId !== undefined && fault === undefined)
    if (!isSuspended) return this.#end(fault ?? new RUN_ERR_NOT_FOUND(runId))
    this.#send(
      sessionId === undefined
        ? ['run.suspended', { runId, seq: after }]
        : ['session.suspended', { sessionId }]
    )
    this.#end()
  }

  #finish(last: LogEntry): false {
    const emitted = typeOfEntry(last) === 'finish' ? this.#finishWithResult(last) : this.#emitLast(last)
    if (isPromise(emitted)) emitted.catch((err: unknown) => this.#end(err))
    return false
  }

  // The result has the full text of the run, and its files.
  #finishWithResult(last: LogEntry): Awaitable<void> {
    const run = this.#options.runs.stores.runs.find(this.#reader.runId)
    return isPromise(run) ? run.then((found) => this.#loadLast(last, found)) : this.#loadLast(last, run)
  }

  #loadLast(last: LogEntry, run: RunSummary | undefined): Awaitable<void> {
    if (run === undefined) return this.#emitLast(last)
    const load = (): Awaitable<void> => {
      if (this.#closed) return
      const result = loadResult(this.#options.runs.stores, run)
      return isPromise(result)
        ? result.then((loaded) => this.#emitLast(last, loaded))
        : this.#emitLast(last, result)
    }
    if (run.bytes <= MAX_WHOLE) return load()
    const sent = sending.then(nextTurn).then(load)
    sending = sent.catch(() => {})
    return sent
  }

  #emitLast(last: LogEntry, result?: RunResult | null): void {
    if (this.#closed) return
    const json = this.#encode(last, result ?? undefined)
    if (json !== '') this.#options.outlet.emit(json)
    if (this.#options.sessionId === undefined) this.#end()
    else this.pump()
  }

  #share(first: number): string[] {
    const { runs, parts, exposeToolArgs, sessionId } = this.#options
    const { runId } = this.#reader
    if (
      shared?.runId !== runId ||
      shared.first !== first ||
      shared.parts !== parts ||
      shared.exposeToolArgs !== exposeToolArgs ||
      shared.sessionId !== sessionId ||
      shared.runs !== runs
    )
      shared = { runs, parts, exposeToolArgs, sessionId, runId, first, events: [] }
    return shared.events
  }

  #emitAll(entries: readonly LogEntry[], events: string[], end: number): void {
    const { outlet } = this.#options
    for (let index = 0; index < end; index++) {
      const json = (events[index] ??= this.#encode(entries[index]!))
      if (json !== '') outlet.emit(json)
    }
  }

  // '' for entries without an event.
  #encode(entry: LogEntry, result?: RunResult): string {
    const { kind, parts, exposeToolArgs, sessionId } = this.#options
    const { runId, ordinal = 0 } = this.#reader
    const { seq } = entry
    const place = sessionId === undefined ? undefined : { sessionId, id: formatPosition({ ordinal, seq }) }
    if (entry instanceof TextEntry) {
      if (this.#chunks?.runId !== runId) this.#chunks = new ChunkEncoder({ kind, runId })
      return this.#chunks.encode(entry, place && `,${JSON.stringify(place).slice(1, -1)}`)
    }
    // Damaged entries have no type; reading their part throws.
    if (!parts && !hasEvent(typeOfEntry(entry) ?? 'error')) return ''
    const event = projectPart({ kind, parts, exposeToolArgs, runId }, entry.part, result)
    if (event === undefined) return ''
    if (place !== undefined) Object.assign(event[1], place)
    return JSON.stringify(event)
  }

  #send(event: ServerEvent): void {
    this.#options.outlet.emit(JSON.stringify(event))
  }

  #end(err?: unknown): void {
    if (this.#closed) return
    this.close()
    this.#options.ended(err)
  }
}
