import { Readable } from 'node:stream'
import { isTellable } from '../contract/create-error.ts'
import { nextTurn } from '../next-turn.ts'
import { LogReader, type LogHost } from '../runs/log/log-reader.ts'
import { isPromise } from '../contract/ports/awaitable.ts'
import type { LogEntry } from '../contract/ports/stream-log.ts'
import { encodeFault, encodeSse, encodeSseFault, SSE_HEARTBEAT, SSE_SUSPENDED } from './encode-sse.ts'
import { entryFromJson } from '../stores/log-entry.ts'

/** Maps the log to other messages. */
export interface SseProjection {
  /** Messages before all others; large texts in pieces, each created when it is read. */
  head?: string | Iterable<string>
  /** The messages of a log entry; '' for none. */
  encode(entry: LogEntry): string | Iterable<string>
  /** True if the stream ends here, even if the log continues. */
  readonly ended?: boolean
}

/** Options of an event stream. */
export interface SseStreamOptions {
  /** The `seq` after which the stream starts; default 0. */
  after?: number
  /** Milliseconds between heartbeat comments while the stream is idle; default 15,000. */
  heartbeat?: number
  /** Default: each part as one message, with its `seq` as the id. */
  projection?: SseProjection
}

/** Characters per push: many small messages, or a piece of a large one. */
const PIECE = 32_768

/**
 * Creates an event stream of a run's parts; it ends after the last one. It pulls from the log, so a client that does not read costs
 * no more than the data in flight. Destroying the stream does not affect the run.
 */
export function createSseStream(runs: LogHost, runId: string, options: SseStreamOptions = {}): Readable {
  const { after, heartbeat = 15_000, projection } = options
  return new SseStream(new LogReader(runs, runId, after), heartbeat, projection)
}

class SseStream extends Readable {
  readonly #reader: LogReader
  readonly #heartbeat: NodeJS.Timeout
  readonly #projection: SseProjection | undefined
  // Output that precedes the entries: a text, or the rest of a large one.
  #head = ''
  #pieces: Iterator<string> | undefined
  // Entries read but not pushed yet, and how much of the first one has been pushed.
  #entries: readonly LogEntry[] = []
  #next = 0
  #offset = 0
  #idle = false
  #busy = false

  constructor(reader: LogReader, heartbeat: number, projection: SseProjection | undefined) {
    super({ highWaterMark: PIECE })
    this.#reader = reader
    this.#projection = projection
    this.#say(projection?.head ?? '')
    this.#heartbeat = setInterval(() => {
      if (!this.#idle || this.readableLength > 0) return
      this.push(SSE_HEARTBEAT)
      // A lost wake-up delays the stream by one heartbeat at most.
      reader.lookAgain()
    }, heartbeat).unref()
  }

  override _read(): void {
    if (this.#busy) return
    if (this.#pieces === undefined) this.#fill()
    else this.#fillLater()
  }

  override _destroy(err: Error | null, done: (err?: Error | null) => void): void {
    clearInterval(this.#heartbeat)
    this.#reader.close()
    done(err)
  }

  // An error of the log ends the stream.
  #fill(): void {
    try {
      this.#pushAll()
    } catch (err) {
      this.#fail(err)
    }
  }

  // Tellable errors become a last message; a projection cannot express them.
  #fail(err: unknown): void {
    if (this.destroyed) return
    if (this.#projection !== undefined || !isTellable(err)) return void this.destroy(err as Error)
    this.push(encodeSseFault(err))
    this.push(null)
  }

  // Large messages are encoded piece by piece, in turn with other readers.
  #fillLater(): void {
    this.#busy = true
    void nextTurn().then(() => this.#fill())
  }

  // Pushes until the stream's buffer is full or the log is exhausted.
  #pushAll(): void {
    this.#idle = false
    this.#busy = true
    while (!this.destroyed) {
      if (this.#pieces !== undefined) {
        const piece = this.#pieces.next()
        if (piece.done === true) this.#pieces = undefined
        else if (this.push(piece.value)) return this.#fillLater()
        else break
        continue
      }
      if (this.#projection?.ended && this.#head === '') return void this.push(null)
      if (this.#next === this.#entries.length && this.#head === '') {
        if (this.#reader.ended) return this.#end()
        const entries = this.#reader.read()
        if (isPromise(entries)) return this.#await(entries)
        if (!this.#take(entries)) return
        continue
      }
      const piece = this.#projection === undefined ? this.#piece() : this.#projected(this.#projection)
      if (piece !== '' && !this.push(piece)) break
    }
    this.#busy = false
  }

  #end(): void {
    const { suspended, fault } = this.#reader
    if (suspended) this.push(SSE_SUSPENDED)
    if (fault !== undefined) this.push(this.#encodeEnd(fault))
    this.push(null)
  }

  // The run will end with this error once its store works again.
  #encodeEnd(fault: Error): string {
    if (this.#projection === undefined) return encodeSseFault(fault)
    return Array.from(this.#projection.encode(entryFromJson(0, encodeFault(fault)))).join('')
  }

  #await(entries: Promise<readonly LogEntry[]>): void {
    entries
      .then((all) => {
        if (this.#take(all)) this.#fill()
      })
      .catch((err: unknown) => this.#fail(err))
  }

  // True if there is something to push. Wake-ups within one turn of the event loop become one write.
  #take(entries: readonly LogEntry[]): boolean {
    this.#entries = entries
    this.#next = 0
    if (entries.length > 0 || this.#reader.ended) return true
    this.#idle = true
    this.#reader.onNews(() => setImmediate(() => this.#fill()))
    return false
  }

  #projected(projection: SseProjection): string {
    let text = this.#head
    this.#head = ''
    while (this.#next < this.#entries.length && text.length < PIECE && !projection.ended) {
      this.#say(projection.encode(this.#entries[this.#next++]!))
      text += this.#head
      this.#head = ''
      if (this.#pieces !== undefined) break
    }
    return text
  }

  #say(what: string | Iterable<string>): void {
    if (typeof what === 'string') this.#head = what
    else this.#pieces = what[Symbol.iterator]()
  }

  #piece(): string {
    let text = ''
    while (this.#next < this.#entries.length && text.length < PIECE) {
      const { seq, json } = this.#entries[this.#next]!
      if (json.length > PIECE) return text === '' ? this.#pieceOfLarge(seq, json) : text
      text += encodeSse(seq, json)
      this.#next++
    }
    return text
  }

  // Sliced from the log's own string, so that no reader copies a large message.
  #pieceOfLarge(seq: number, json: string): string {
    const start = this.#offset
    let end = Math.min(start + PIECE, json.length)
    // Never splits a surrogate pair.
    if (end < json.length && isHighSurrogate(json.charCodeAt(end - 1))) end--
    const [before, after] = encodeSse(seq, '\u0000').split('\u0000') as [string, string]
    const isLast = end === json.length
    this.#offset = isLast ? 0 : end
    if (isLast) this.#next++
    return `${start === 0 ? before : ''}${json.slice(start, end)}${isLast ? after : ''}`
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
