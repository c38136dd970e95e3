import {
  createPause,
  isPromise,
  isTerminalPart,
  isTerminalStatus,
  REG_ERR_BAD_OPTION,
  type Awaitable,
  type LogEntry,
  type NumberedPart,
  type ReadLimit,
  type RunSummary,
  type Stores
} from '@svc/contract'
import { typeOfEntry } from './flat-entry.ts'
import type { EntryReader } from './entry-reader.ts'
import { TransientInbox, type TransientPart } from './transient-parts.ts'

/** The source of a reader; reading ends when `closed` aborts. */
export interface LogHost {
  readonly stores: Pick<Stores, 'log' | 'runs'>
  readonly closed?: AbortSignal
  /** As `RunEngine.faultOf`. */
  faultOf?(runId: string): Error | undefined
  /** As `RunEngine.followTransients`. */
  followTransients?(runId: string, listener: (part: TransientPart) => void): () => void
}

/** Beyond the last part of any log. */
export const AFTER_ALL = 2_147_483_647

/** The limit of one read from the log. */
const READ_LIMIT: Readonly<ReadLimit> = Object.freeze({ entries: 512, bytes: 65_536 })

/** Reads one run's log from a `seq` on, at its own pace; it holds nothing but its position. */
export class LogReader implements EntryReader {
  readonly #host: LogHost
  readonly #stores: LogHost['stores']
  readonly #closed: AbortSignal | undefined
  readonly runId: string
  readonly #exists: boolean
  readonly #unfollow: () => void
  #transients: TransientInbox | undefined
  #unfollowTransients: (() => void) | undefined
  #after: number
  // True if the log is ahead of the record, which then need not be read.
  #isCurrent = false
  #isOver = false
  #news = false
  #onNews: (() => void) | undefined
  #ended = false
  #endsRun = false
  #gone = false
  #suspended = false
  #fault: Error | undefined
  readonly #leave = () => this.#wake()

  /**
   * @param exists true if the run was created: the reader ends if it is no longer kept. Default: it may be created later
   * @throws REG_ERR_BAD_OPTION unless `after` is a whole number from 0 on
   */
  constructor(host: LogHost, runId: string, after = 0, exists = false) {
    const { stores, closed } = host
    if (!Number.isSafeInteger(after) || after < 0)
      throw new REG_ERR_BAD_OPTION('after: must be a whole number from 0 on')
    this.#host = host
    this.#stores = stores
    this.#closed = closed
    this.runId = runId
    this.#exists = exists
    this.#after = after
    this.#unfollow = stores.log.follow(runId, (gone) => this.#wake(gone))
    closed?.addEventListener('abort', this.#leave, { once: true })
  }

  /** From now on, collects the transient parts of the run for `takeTransients`. */
  followTransients(): void {
    const inbox = (this.#transients ??= new TransientInbox())
    this.#unfollowTransients ??= this.#host.followTransients?.(this.runId, (part) => {
      inbox.add(part)
      this.#wake()
    })
  }

  /** The transient parts since the last call. */
  takeTransients(): readonly TransientPart[] {
    return this.#transients?.take() ?? []
  }

  /** True if nothing more comes: the run's last part was read, its log is gone, or the run is suspended. */
  get ended(): boolean {
    return this.#ended
  }

  /** True if the engine closed before the run ended; another process resumes it after the part `after`. */
  get suspended(): boolean {
    return this.#suspended
  }

  /** True if the run's last part was read. */
  get endsRun(): boolean {
    return this.#endsRun
  }

  /** The `seq` of the last part read. */
  get after(): number {
    return this.#after
  }

  /** The store failure that ended the log before the run's last part, if any. */
  get fault(): Error | undefined {
    return this.#fault
  }

  /** Reads the next entries; empty if there are none yet. */
  read(): Awaitable<readonly LogEntry[]> {
    this.#news = false
    // A closed engine writes nothing more, so this read is final.
    const isLast = this.#closed?.aborted === true
    const entries = this.#stores.log.read(this.runId, this.#after, READ_LIMIT)
    return isPromise(entries) ? entries.then((all) => this.#take(all, isLast)) : this.#take(entries, isLast)
  }

  /** Calls back once there is more to read than at the last `read`; immediately if there already is. */
  onNews(callback: () => void): void {
    this.#onNews = () => {
      this.#onNews = undefined
      callback()
    }
    if (this.#news) this.#onNews()
  }

  /** Rereads log and record as if notified, in case a notification was lost. */
  lookAgain(): void {
    this.#isCurrent = false
    this.#news = true
    this.#onNews?.()
  }

  close(): void {
    this.#onNews = undefined
    this.#unfollow()
    this.#unfollowTransients?.()
    this.#closed?.removeEventListener('abort', this.#leave)
  }

  #wake(gone = false): void {
    this.#gone ||= gone
    this.#news = true
    this.#onNews?.()
  }

  #take(entries: readonly LogEntry[], isLast: boolean): Awaitable<readonly LogEntry[]> {
    const last = entries.at(-1)
    if (last !== undefined) {
      this.#isCurrent = true
      this.#after = last.seq
      this.#ended = this.#endsRun = isTerminalEntry(last)
    } else if (this.#gone || this.#isOver) {
      this.#ended = true
      this.#fault = this.#host.faultOf?.(this.runId)
    } else if (!this.#isCurrent) {
      const run = this.#stores.runs.find(this.runId)
      return isPromise(run)
        ? run.then((found) => this.#readAgain(found, isLast))
        : this.#readAgain(run, isLast)
    } else if (isLast) {
      this.#ended = this.#suspended = true
    }
    return entries
  }

  // There is nothing after the reader's position. If the run is over, read again: it may have ended just now.
  #readAgain(run: RunSummary | undefined, isLast: boolean): Awaitable<readonly LogEntry[]> {
    if (run === undefined || !isTerminalStatus(run.status)) {
      this.#ended = isLast || (run === undefined && this.#exists)
      this.#suspended = isLast && run !== undefined
      return []
    }
    this.#isOver = true
    return this.read()
  }
}

function isTerminalEntry(entry: LogEntry): boolean {
  const type = typeOfEntry(entry)
  return type !== undefined && isTerminalPart({ type }) && isTerminalPart(entry.part)
}

/** Yields the parts of a run in order, including future ones, until its last part or until the signal aborts. */
export async function* readParts(
  host: LogHost,
  runId: string,
  after?: number,
  signal?: AbortSignal
): AsyncGenerator<NumberedPart, void> {
  for await (const entry of readEntries(host, runId, after, signal)) yield entry.part
}

/** Like `readParts`, but yields log entries, which are parsed only on access. */
export async function* readEntries(
  host: LogHost,
  runId: string,
  after?: number,
  signal?: AbortSignal
): AsyncGenerator<LogEntry, void> {
  const reader = new LogReader(host, runId, after)
  let release: (() => void) | undefined
  const stop = () => release?.()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    while (!reader.ended && !signal?.aborted) {
      const entries = await reader.read()
      for (const entry of entries) {
        if (signal?.aborted) return
        yield entry
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

/**
 * Yields the entries that the log of a run has now, in order; none if it is no longer kept. What is done with a long log leaves time to others.
 */
export async function* readPresent(
  { log }: Pick<Stores, 'log'>,
  runId: string,
  after = 0
): AsyncGenerator<LogEntry, void> {
  const pause = createPause()
  for (let seq = after; ;) {
    const entries = await log.read(runId, seq, READ_LIMIT)
    yield* entries
    const last = entries.at(-1)
    if (last === undefined) return
    seq = last.seq
    await pause()
  }
}

/** True if the part with this `seq` is the run's last; undefined if there is no such part. 0 precedes the first part and is never the last. */
export async function isEnd(
  { log }: Pick<Stores, 'log'>,
  runId: string,
  seq: number
): Promise<boolean | undefined> {
  if (seq === 0) return false
  const [entry] = await log.read(runId, seq - 1, { entries: 1, bytes: 1 })
  return entry && isTerminalPart(entry.part)
}
