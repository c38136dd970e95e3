import type { ReadableStreamDefaultController, UnderlyingSource } from 'node:stream/web'
import { callNextTurn, isPromise, isTellable, nextTurn } from '@svc/contract'
import { LogReader, type EntryReader, type LogHost } from '@svc/registry/engine'
import { encodeSseFault, SSE_HEARTBEAT } from './encode-sse.ts'
import { SseMessages, type SseProjection } from './sse-messages.ts'

/** Options of an event stream. */
export interface SseStreamOptions {
  /** The `seq` after which the stream starts; default 0. */
  after?: number
  /** Milliseconds between heartbeat comments while the stream is idle; default 15,000. */
  heartbeat?: number
  /** Default: each part as one message, with its `seq` as the id. */
  projection?: SseProjection
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
  { after, ...options }: SseStreamOptions = {}
): ReadableStream<string> {
  return streamEntries(new LogReader(runs, runId, after), options)
}

/**
 * Creates an event stream of what a reader reads. If that is a session, each part names its run, and ids are places in its channel.
 * Closing the stream closes the reader.
 */
export function streamEntries(
  reader: EntryReader,
  { heartbeat = 15_000, projection }: Omit<SseStreamOptions, 'after'> = {}
): ReadableStream<string> {
  return new ReadableStream(new SseSource(reader, heartbeat, projection), { highWaterMark: 0 })
}

class SseSource implements UnderlyingSource<string> {
  readonly #reader: EntryReader
  readonly #messages: SseMessages
  readonly #isProjected: boolean
  readonly #heartbeat: number
  #timer: NodeJS.Timeout | undefined
  // Ends the wait of an idle stream.
  #wake: ((isBeat: boolean) => void) | undefined
  #isClosed = false

  constructor(reader: EntryReader, heartbeat: number, projection: SseProjection | undefined) {
    this.#reader = reader
    this.#messages = new SseMessages(reader, projection)
    this.#isProjected = projection !== undefined
    this.#heartbeat = heartbeat
  }

  // A session may be silent for long, and its client is to learn at once that it is followed.
  start(controller: Controller): void {
    if (this.#reader.ordinal !== undefined) controller.enqueue(SSE_HEARTBEAT)
  }

  async pull(controller: Controller): Promise<void> {
    try {
      const piece = await this.#next()
      if (this.#isClosed) return
      if (piece !== undefined) controller.enqueue(piece)
      // At once, so that the end leaves with the last piece.
      if (piece === undefined || this.#messages.ended) this.#close(controller)
    } catch (err) {
      this.#fail(err, controller)
    }
  }

  cancel(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#messages.close()
    this.#reader.close()
  }

  // Undefined at the end.
  async #next(): Promise<string | undefined> {
    for (;;) {
      // Large messages are encoded in turn with other streams.
      await (this.#messages.isLarge ? nextTurn() : new Promise<void>(callNextTurn))
      const reading = this.#messages.next()
      const piece = isPromise(reading) ? await reading : reading
      if (piece !== '' || this.#isClosed) return piece
      if (!(await this.#idle())) continue
      // A lost wake-up delays the stream by one heartbeat at most.
      this.#reader.lookAgain()
      return SSE_HEARTBEAT
    }
  }

  // Resolves with true if the heartbeat is due before the log has news.
  #idle(): Promise<boolean> {
    this.#timer ??= setInterval(() => this.#wake?.(true), this.#heartbeat).unref()
    return new Promise((resolve) => {
      this.#wake = (isBeat) => {
        this.#wake = undefined
        resolve(isBeat)
      }
      this.#reader.onNews(() => this.#wake?.(false))
    })
  }

  #close(controller: Controller): void {
    this.cancel()
    controller.close()
  }

  // Tellable errors become a last message; a projection cannot express them.
  #fail(err: unknown, controller: Controller): void {
    if (this.#isClosed) return
    if (this.#isProjected || !isTellable(err)) {
      this.cancel()
      return controller.error(err)
    }
    controller.enqueue(encodeSseFault(err))
    this.#close(controller)
  }
}
