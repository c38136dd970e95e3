import { Readable } from 'node:stream'
import { isTellable } from '../contract/create-error.ts'
import { nextTurn } from '../next-turn.ts'
import { LogReader, type LogHost } from '../runs/log/log-reader.ts'
import { isPromise } from '../contract/ports/awaitable.ts'
import type { LogEntry } from '../contract/ports/stream-log.ts'
import { encodeFault, encodeSse, encodeSseFault, SSE_HEARTBEAT, SSE_SUSPENDED } from './encode-sse.ts'
import { entryFromJson } from '../stores/log-entry.ts'

/** What a stream says, where that is not the log itself. */
export interface SseProjection {
  /** What comes before everything else; large texts in pieces, each made when it is read. */
  head?: string | Iterable<string>
  /** The messages that an entry of the log becomes; '' for none. */
  encode(entry: LogEntry): string | Iterable<string>
  /** Whether the stream ends here, whatever comes in the log. */
  readonly ended?: boolean
}

/** From where a stream begins, and how often it shows that it lives. */
export interface SseStreamOptions {
  /** The `seq` after which it begins; default 0. */
  after?: number
  /** Milliseconds between comments while there is nothing to say; default 15,000. */
  heartbeat?: number
  /** Default: each part as one message, with its `seq` as the id. */
  projection?: SseProjection
}

/** Characters of one push: many small messages, or a piece of a large one. */
const PIECE = 32_768

/**
 * The parts of a run as the bytes of an event stream; it ends after the run's last part. It pulls from the log, so that a
 * client that does not read costs what is under way to it and nothing more. Destroying it leaves the run alone.
 */
export function createSseStream(runs: LogHost, runId: string, options: SseStreamOptions = {}): Readable {
  const { after, heartbeat = 15_000, projection } = options
  return new SseStream(new LogReader(runs, runId, after), heartbeat, projection)
}

class SseStream extends Readable {
  readonly #reader: LogReader
  readonly #heartbeat: NodeJS.Timeout
  readonly #projection: SseProjection | undefined
  // What is said next, before what was read: a text, or what is left of a large one.
  #head = ''
  #pieces: Iterator<string> | undefined
  // What has been read and not been pushed yet: entries, and how much of the first one has been.
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
      // Should a wake-up get lost, the stream is no later than this.
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

  // A fault of the log is the stream's end, whoever called.
  #fill(): void {
    try {
      this.#pushAll()
    } catch (err) {
      this.#fail(err)
    }
  }

  // What clients may know they are told; a projection has no words for it.
  #fail(err: unknown): void {
    if (this.destroyed) return
    if (this.#projection !== undefined || !isTellable(err)) return void this.destroy(err as Error)
    this.push(encodeSseFault(err))
    this.push(null)
  }

  // What is large is encoded piece by piece, whoever else reads.
  #fillLater(): void {
    this.#busy = true
    void nextTurn().then(() => this.#fill())
  }

  // Goes on until the stream has enough or the log has nothing; then it waits for the one or the other.
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

  // The run will end with just that, when its store works again.
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

  // Whether there is something to do. Wake-ups of one turn of the event loop become one write.
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

  // Cut from the log's own text, so that a reader never holds a copy of a large message.
  #pieceOfLarge(seq: number, json: string): string {
    const start = this.#offset
    let end = Math.min(start + PIECE, json.length)
    // Never between the two halves of a surrogate pair.
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
