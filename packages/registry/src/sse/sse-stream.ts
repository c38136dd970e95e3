import { Readable } from 'node:stream'
import { LogReader } from '../runs/log-reader.ts'
import type { RunEngine } from '../runs/run-engine.ts'
import { isPromise } from '../stores/awaitable.ts'
import type { LogEntry } from '../stores/stream-log.ts'
import { encodeSse, SSE_HEARTBEAT } from './encode-sse.ts'

/** From where a stream begins, and how often it shows that it lives. */
export interface SseStreamOptions {
  /** The `seq` after which it begins; default 0. */
  after?: number
  /** Milliseconds between comments while there is nothing to say; default 15,000. */
  heartbeat?: number
}

/** Characters of one push; a larger message goes out in pieces, so that a reader holds no copy of it. */
const PIECE = 32_768

/**
 * The parts of a run as the bytes of an event stream; it ends after the run's last part. It pulls from the log, so that a
 * client that does not read costs what is under way to it and nothing more. Destroying it leaves the run alone.
 */
export function createSseStream(
  runs: Pick<RunEngine, 'stores'>,
  runId: string,
  options: SseStreamOptions = {}
): Readable {
  return new SseStream(new LogReader(runs.stores.log, runId, options.after), options.heartbeat ?? 15_000)
}

class SseStream extends Readable {
  readonly #reader: LogReader
  readonly #heartbeat: NodeJS.Timeout
  #text = ''
  #idle = false
  #busy = false

  constructor(reader: LogReader, heartbeat: number) {
    super({ highWaterMark: PIECE })
    this.#reader = reader
    this.#heartbeat = setInterval(() => {
      if (this.#idle && this.readableLength === 0) this.push(SSE_HEARTBEAT)
    }, heartbeat).unref()
  }

  override _read(): void {
    if (!this.#busy) this.#fill()
  }

  override _destroy(err: Error | null, done: (err?: Error | null) => void): void {
    clearInterval(this.#heartbeat)
    this.#reader.close()
    done(err)
  }

  // Goes on until the stream has enough or the log has nothing; then it waits for the one or the other.
  #fill(): void {
    this.#idle = false
    this.#busy = true
    while (!this.destroyed) {
      if (this.#text === '') {
        if (this.#reader.ended) return void this.push(null)
        const entries = this.#reader.read()
        if (isPromise(entries)) return this.#await(entries)
        if (!this.#take(entries)) return
        continue
      }
      if (!this.#pushPiece()) break
    }
    this.#busy = false
  }

  #await(entries: Promise<readonly LogEntry[]>): void {
    entries.then(
      (all) => {
        if (this.#take(all)) this.#fill()
      },
      (err: Error) => this.destroy(err)
    )
  }

  // Whether there is something to push. Wake-ups of one turn of the event loop become one write.
  #take(entries: readonly LogEntry[]): boolean {
    for (const { seq, json } of entries) this.#text += encodeSse(seq, json)
    if (this.#text !== '' || this.#reader.ended) return true
    this.#idle = true
    this.#reader.onNews(() => setImmediate(() => this.#fill()))
    return false
  }

  #pushPiece(): boolean {
    if (this.#text.length <= PIECE) {
      const text = this.#text
      this.#text = ''
      return this.push(text)
    }
    // Never between the two halves of a surrogate pair.
    const cut = isHighSurrogate(this.#text.charCodeAt(PIECE - 1)) ? PIECE - 1 : PIECE
    const piece = this.#text.slice(0, cut)
    this.#text = this.#text.slice(cut)
    return this.push(piece)
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
