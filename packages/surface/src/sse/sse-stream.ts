import type { ReadableStreamDefaultController, UnderlyingSource } from 'node:stream/web'
import {
  callNextTurn,
  isExposed,
  andThen,
  isPromise,
  nextTurn,
  toPartError,
  toStoredError,
  type Awaitable,
  type LogEntry,
  type NumberedPart,
  type Part
} from '@svc/contract'
import { RUN_ERR_SUSPENDED } from '@svc/contract/errors'
import { entryFromJson, TextEntry } from '@svc/contract/stores'
import {
  DEFAULT_HEARTBEAT,
  LogReader,
  type EntryReader,
  type LogHost,
  type TransientPart
} from '@svc/registry/engine'
import { PartialReader } from './partial-reader.ts'

/**
 * Headers of every event stream: `no-transform` keeps proxies from compressing it, and thereby from holding events back;
 * `X-Accel-Buffering` keeps nginx from buffering it.
 */
export const SSE_HEADERS = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no'
})

/**
 * Encodes one message of an event stream: the JSON, and the id to resume from.
 * @param json JSON text, which contains no raw line breaks
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export function encodeSse(id: number | string, json: string): string {
  return `data: ${json}\nid: ${id}\n\n`
}

/**
 * Encodes the last message of an event stream that ends before its run: an `error` part without a number, since it is not in the
 * log. A client that reconnects continues after the last numbered part.
 */
function encodeSseFault(err: unknown): string {
  return encodeUnnumbered(encodeFault(err))
}

/** Encodes a message that is not in the log, and after which no client can continue. */
function encodeUnnumbered(json: string): string {
  return `data: ${json}\n\n`
}

/** The JSON of an unnumbered `error` part. */
function encodeFault(err: unknown): string {
  const error = toPartError(toStoredError(err))
  return JSON.stringify({ type: 'error', at: Date.now(), error } satisfies Part & Pick<NumberedPart, 'at'>)
}

/** A comment, which clients ignore and which keeps proxies from timing out. */
export const SSE_HEARTBEAT = ':\n\n'

/** The end of a stream whose run is resumed once the service is back; an EventSource reconnects by itself. */
const SSE_SUSPENDED = ': suspended, the run resumes when the service is back\n\n'

/** Maps the log to other messages. */
export interface SseProjection {
  /** Messages before all others; large texts in pieces, each created, or read from stores, when it is read. */
  head?: string | Iterable<string> | AsyncIterable<string>
  /** The messages of a log entry; '' for none. The stream waits for a promise before it goes to the next entry. */
  encode(entry: LogEntry): Awaitable<string | Iterable<string>>
  /** True if the stream ends here, even if the log continues. */
  readonly ended?: boolean
  /** Called when the log has nothing more for now: the messages to add, '' for none. `ended` may be true afterwards. */
  atPresent?(): string
  /** The messages of a transient part; without it the stream has none. */
  encodeTransient?(part: TransientPart): string
  /** True if the stream breaks off, as by a lost connection, where its run is suspended. Default: it ends after `encodeSuspended`. */
  readonly breaksOff?: boolean
  /** The last message where the run is suspended, since the service stops; default a comment. */
  encodeSuspended?(): string
  /** The last message where the log cannot be read to its end, '' for none; undefined, as by default: the stream breaks off. */
  encodeFailure?(err: unknown): string | undefined
}

/** Characters per piece: many small messages, or a part of a large one. */
const PIECE = 32_768

/** Encodes the messages of one event stream, piece by piece. */
class SseMessages {
  readonly #reader: EntryReader
  readonly #projection: SseProjection | undefined
  // Output that precedes the entries: a text, or the rest of a large one.
  #head = ''
  #pieces: Iterator<string> | undefined
  // The rest of what precedes the entries, if it is read from stores.
  #ahead: AsyncIterator<string> | undefined
  // Entries read but not encoded yet, and how much of the first one has been returned.
  #entries: readonly LogEntry[] = []
  #next = 0
  // What is read while output precedes it.
  #reading: Promise<readonly LogEntry[]> | undefined
  #offset = 0
  // What precedes the `seq` in ids, and the opening brace of entries; those of sessions have their run behind it.
  #idPrefix = ''
  #opening = '{'
  // Of an entry whose messages take time.
  #pending: Promise<string | Iterable<string>> | undefined
  #isOver = false

  constructor(reader: EntryReader, projection: SseProjection | undefined) {
    this.#reader = reader
    this.#projection = projection
    if (projection === undefined || projection.encodeTransient !== undefined) reader.followTransients()
    const head = projection?.head ?? ''
    if (typeof head === 'object' && Symbol.asyncIterator in head) this.#ahead = head[Symbol.asyncIterator]()
    else this.#say(head)
  }

  /** True if the next piece is a part of a large message, which takes long to encode. */
  get isLarge(): boolean {
    return this.#pieces !== undefined || this.#ahead !== undefined
  }

  /** True if the last piece has been returned. */
  get ended(): boolean {
    if (this.#isOver) return true
    if (this.#ahead !== undefined) return false
    if (this.#head !== '' || this.#pieces !== undefined || this.#pending !== undefined) return false
    if (this.#projection?.ended) return true
    const { ended, suspended, fault } = this.#reader
    return this.#next === this.#entries.length && ended && !suspended && fault === undefined
  }

  /** The next piece: '' if there is none yet, undefined after the last one. @throws the errors of the log */
  next(): Awaitable<string | undefined> {
    if (this.#ahead !== undefined) return this.#readAhead(this.#ahead)
    while (!this.ended) {
      if (this.#pieces !== undefined) {
        const piece = this.#pieces.next()
        if (piece.done === true) this.#pieces = undefined
        else if (piece.value !== '') return piece.value
        continue
      }
      if (this.#pending !== undefined && this.#head === '') return this.#await(this.#pending)
      if (this.#next === this.#entries.length && this.#head === '') {
        if (this.#reader.ended) return this.#end()
        const entries = this.#reading ?? this.#reader.read()
        this.#reading = undefined
        if (isPromise(entries))
          return entries.then((all) => (this.#take(all) ? this.next() : this.#encodePresent()))
        if (!this.#take(entries)) return this.#encodePresent()
        continue
      }
      if (this.#next === this.#entries.length) this.#readEarly()
      const piece = this.#projection === undefined ? this.#encode() : this.#project(this.#projection)
      if (piece !== '') return piece
    }
    return undefined
  }

  /** Nothing more is read. */
  close(): void {
    this.#ahead?.return?.().catch(() => {})
  }

  // What a store has at once leaves together with what precedes it.
  #readEarly(): void {
    if (this.#reading !== undefined || this.#reader.ended) return
    const entries = this.#reader.read()
    if (!isPromise(entries)) return void this.#take(entries)
    this.#reading = entries
    // It fails again where it is awaited.
    entries.catch(() => {})
  }

  async #readAhead(ahead: AsyncIterator<string>): Promise<string | undefined> {
    for (;;) {
      const { done, value } = await ahead.next()
      if (done === true) break
      if (value !== '') return value
    }
    this.#ahead = undefined
    return this.next()
  }

  // True unless the log has nothing new.
  #take(entries: readonly LogEntry[]): boolean {
    this.#entries = entries
    this.#next = 0
    const { ordinal, runId } = this.#reader
    if (ordinal !== undefined) {
      this.#idPrefix = `${ordinal}.`
      this.#opening = openingOf(runId)
    }
    return entries.length > 0 || this.#reader.ended
  }

  async #await(pending: Promise<string | Iterable<string>>): Promise<string | undefined> {
    const what = await pending
    this.#pending = undefined
    this.#say(what)
    return this.next()
  }

  #encodePresent(): string {
    const projection = this.#projection
    if (projection === undefined) return this.#encodeTransients()
    const { encodeTransient } = projection
    const parts = encodeTransient === undefined ? [] : this.#reader.takeTransients()
    const transients = parts.map((part) => projection.encodeTransient!(part)).join('')
    return transients + (projection.atPresent?.() ?? '')
  }

  // After the log, since they are of the moment.
  #encodeTransients(): string {
    return this.#reader
      .takeTransients()
      .map(({ json, runId }) =>
        encodeUnnumbered(openJson(json, runId === undefined ? this.#opening : openingOf(runId)))
      )
      .join('')
  }

  #end(): Awaitable<string | undefined> {
    this.#isOver = true
    const { suspended, fault } = this.#reader
    if (suspended && this.#projection?.breaksOff) throw new RUN_ERR_SUSPENDED()
    const start = suspended ? (this.#projection?.encodeSuspended?.() ?? SSE_SUSPENDED) : ''
    if (fault === undefined) return start === '' ? undefined : start
    const end = this.#encodeFault(fault)
    return isPromise(end) ? end.then((text) => start + text) : start + end || undefined
  }

  // The run will end with this error once its store works again.
  #encodeFault(fault: Error): Awaitable<string> {
    if (this.#projection === undefined) return encodeSseFault(fault)
    const what = this.#projection.encode(entryFromJson(0, encodeFault(fault)))
    return andThen(what, toText)
  }

  #project(projection: SseProjection): string {
    let text = this.#head
    this.#head = ''
    if (this.#pending !== undefined) return text
    while (this.#next < this.#entries.length && text.length < PIECE && !projection.ended) {
      const what = projection.encode(this.#entries[this.#next++]!)
      if (isPromise(what)) {
        this.#pending = what
        break
      }
      this.#say(what)
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

  #encode(): string {
    const idPrefix = this.#idPrefix
    let text = ''
    while (this.#next < this.#entries.length && text.length < PIECE) {
      const entry = this.#entries[this.#next]!
      const { seq } = entry
      const opening = this.#openingAt(seq)
      if (entry instanceof TextEntry && entry.text.length < PIECE) {
        // As `encodeSse`, in one step: most entries are texts.
        text += `data: ${opening}"seq":${seq}${entry.middle}${entry.text}"}\nid: ${idPrefix}${seq}\n\n`
      } else {
        const { json } = entry
        if (json.length > PIECE) return text === '' ? this.#pieceOfLarge(entry) : text
        text += encodeSse(idPrefix + seq, openJson(json, opening))
      }
      this.#next++
    }
    return text
  }

  // The `start` part, a log's first, names its run itself.
  #openingAt(seq: number): string {
    return seq === 1 ? '{' : this.#opening
  }

  // Sliced from the log's own string, so that no reader copies a large message.
  #pieceOfLarge({ seq, json }: LogEntry): string {
    const isFirst = this.#offset === 0
    const start = isFirst ? 1 : this.#offset
    let end = Math.min(start + PIECE, json.length)
    // Never splits a surrogate pair.
    if (end < json.length && isHighSurrogate(json.charCodeAt(end - 1))) end--
    const [before, after] = encodeSse(this.#idPrefix + seq, '\u0000').split('\u0000') as [string, string]
    const isLast = end === json.length
    this.#offset = isLast ? 0 : end
    if (isLast) this.#next++
    return `${isFirst ? before + this.#openingAt(seq) : ''}${json.slice(start, end)}${isLast ? after : ''}`
  }
}

function toText(what: string | Iterable<string>): string {
  return Array.from(what).join('')
}

// With other text in place of its opening brace.
function openJson(json: string, opening: string): string {
  return opening === '{' ? json : opening + json.slice(1)
}

function openingOf(runId: string): string {
  return `{"runId":${JSON.stringify(runId)},`
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

/** Options of an event stream. */
export interface SseStreamOptions {
  /** The `seq` after which the stream starts; default 0. */
  after?: number
  /** Milliseconds between heartbeat comments while the stream is idle; default 10,000. */
  heartbeat?: number
  /** Default: each part as one message, with its `seq` as the id. */
  projection?: SseProjection
  /** True for the object that an agent is writing among the transient parts; default false. */
  partial?: boolean
}

type Controller = ReadableStreamDefaultController<string>

/**
 * Creates an event stream of a run's parts; it ends after the last one. It reads from the log when it is read itself, and buffers
 * nothing, so a client that does not read costs no more than the data in flight. What the run logs in one turn of the event loop is
 * one chunk. Canceling the stream does not affect the run.
 * @throws REG_ERR_BAD_OPTION unless `after` is a whole number from 0 on
 */
export function createSseStream(
  runs: LogHost,
  runId: string,
  { after, partial = false, ...options }: SseStreamOptions = {}
): ReadableStream<string> {
  const reader = partial ? PartialReader.ofRun(runs, runId, after) : new LogReader(runs, runId, after)
  return streamEntries(reader, options)
}

/**
 * Creates an event stream of what a reader reads. If that is a session, each part names its run, and ids are places in its channel.
 * Closing the stream closes the reader.
 */
export function streamEntries(
  reader: EntryReader,
  { heartbeat = DEFAULT_HEARTBEAT, projection }: Omit<SseStreamOptions, 'after' | 'partial'> = {}
): ReadableStream<string> {
  return new ReadableStream(new SseSource(reader, heartbeat, projection), { highWaterMark: 0 })
}

class SseSource implements UnderlyingSource<string> {
  readonly #reader: EntryReader
  readonly #messages: SseMessages
  readonly #projection: SseProjection | undefined
  readonly #heartbeat: number
  #controller!: Controller
  #timer: NodeJS.Timeout | undefined
  // The client has taken all so far.
  #isAwaited = false
  // The log has nothing more for now.
  #isIdle = false
  #isClosed = false

  constructor(reader: EntryReader, heartbeat: number, projection: SseProjection | undefined) {
    this.#reader = reader
    this.#messages = new SseMessages(reader, projection)
    this.#projection = projection
    this.#heartbeat = heartbeat
  }

  // A session may be silent for long, and its client is to learn at once that it is followed.
  start(controller: Controller): void {
    this.#controller = controller
    const { head = '' } = this.#projection ?? {}
    if (this.#reader.ordinal !== undefined && head === '') controller.enqueue(SSE_HEARTBEAT)
  }

  pull(): void {
    if (this.#isAwaited) return
    this.#isAwaited = true
    this.#schedule()
  }

  cancel(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#messages.close()
    this.#reader.close()
  }

  #schedule(): void {
    // Large messages are encoded in turn with other streams.
    if (this.#messages.isLarge) void nextTurn().then(this.#advance)
    else callNextTurn(this.#advance)
  }

  readonly #advance = (): void => {
    if (this.#isClosed) return
    try {
      const piece = this.#messages.next()
      if (isPromise(piece)) piece.then((read) => this.#deliver(read)).catch(this.#fail)
      else this.#deliver(piece)
    } catch (err) {
      this.#fail(err)
    }
  }

  // Undefined at the end.
  #deliver(piece: string | undefined): void {
    if (this.#isClosed) return
    if (piece === '') return this.#wait()
    this.#isAwaited = false
    // At once, so that the end leaves with the last piece.
    const isLast = piece === undefined || this.#messages.ended
    if (piece !== undefined) this.#controller.enqueue(piece)
    if (isLast) this.#close()
  }

  #wait(): void {
    this.#timer ??= setInterval(() => this.#beat(), this.#heartbeat).unref()
    this.#isIdle = true
    this.#reader.onNews(this.#resume)
  }

  readonly #resume = (): void => {
    if (!this.#isIdle) return
    this.#isIdle = false
    this.#schedule()
  }

  #beat(): void {
    if (!this.#isIdle) return
    this.#isIdle = false
    // A lost wake-up delays the stream by one heartbeat at most.
    this.#reader.lookAgain()
    this.#deliver(SSE_HEARTBEAT)
  }

  #close(): void {
    this.cancel()
    this.#controller.close()
  }

  // Exposed errors become a last message; a projection has its own, if any.
  readonly #fail = (err: unknown): void => {
    if (this.#isClosed) return
    const own = isExposed(err) ? encodeSseFault(err) : undefined
    const last = this.#projection === undefined ? own : this.#projection.encodeFailure?.(err)
    if (last === undefined) {
      this.cancel()
      return this.#controller.error(err)
    }
    if (last !== '') this.#controller.enqueue(last)
    this.#close()
  }
}
