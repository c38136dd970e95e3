import { isTerminalPart } from '../contract/part.ts'
import { isPromise, type Awaitable } from '../stores/awaitable.ts'
import type { LogEntry, ReadLimit, StreamLog } from '../stores/stream-log.ts'

/** How much a reader takes from the log at once. */
const READ_LIMIT: Readonly<ReadLimit> = Object.freeze({ entries: 512, bytes: 65_536 })

/** Reads one run's log from a `seq` on, at its own pace; it holds nothing but its place. */
export class LogReader {
  readonly #log: StreamLog
  readonly #runId: string
  readonly #unfollow: () => void
  #after: number
  #news = false
  #onNews: (() => void) | undefined
  #ended = false
  #gone = false

  constructor(log: StreamLog, runId: string, after = 0) {
    this.#log = log
    this.#runId = runId
    this.#after = after
    this.#unfollow = log.follow(runId, (gone) => {
      this.#gone = gone === true
      this.#news = true
      this.#onNews?.()
    })
  }

  /** Whether there is nothing more to come: the run's last part has been read, or its log is gone. */
  get ended(): boolean {
    return this.#ended
  }

  /** The next entries; empty when there are none yet. */
  read(): Awaitable<readonly LogEntry[]> {
    this.#news = false
    const entries = this.#log.read(this.#runId, this.#after, READ_LIMIT)
    return isPromise(entries) ? entries.then((all) => this.#take(all)) : this.#take(entries)
  }

  /** Calls back once, when there is more to read than at the last `read`; at once if there is. */
  onNews(callback: () => void): void {
    this.#onNews = () => {
      this.#onNews = undefined
      callback()
    }
    if (this.#news) this.#onNews()
  }

  close(): void {
    this.#onNews = undefined
    this.#unfollow()
  }

  #take(entries: readonly LogEntry[]): readonly LogEntry[] {
    const last = entries.at(-1)
    if (last !== undefined) {
      this.#after = last.seq
      this.#ended = isTerminalEntry(last)
    } else if (this.#gone) {
      this.#ended = true
    }
    return entries
  }
}

// The engine writes `type` second in these, so that other parts need not be parsed to know them.
const LOOKS_TERMINAL = /^\{"seq":\d+,"type":"(?:finish|error)"/

function isTerminalEntry(entry: LogEntry): boolean {
  return LOOKS_TERMINAL.test(entry.json) && isTerminalPart(entry.part)
}

/** The entries of a log in their order, those to come included, until the run's last or until the signal aborts. */
export async function* readEntries(reader: LogReader, signal?: AbortSignal): AsyncGenerator<LogEntry, void> {
  let release: (() => void) | undefined
  const stop = () => release?.()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    while (!reader.ended && !signal?.aborted) {
      const entries = await reader.read()
      for (const entry of entries) {
        yield entry
        if (signal?.aborted) return
      }
      if (entries.length > 0 || reader.ended) continue
      await new Promise<void>((resolve) => {
        release = resolve
        reader.onNews(resolve)
        if (signal?.aborted) resolve()
      })
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    reader.close()
  }
}
