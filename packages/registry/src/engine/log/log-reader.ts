import {
  codeOf,
  createPause,
  andThen,
  isPromise,
  isTerminalPart,
  isTerminalStatus,
  type Awaitable,
  type LogEntry,
  type NumberedPart,
  type PartOf,
  type ReadLimit,
  type RunSummary,
  type Stores
} from '@svc/contract'
import { REG_ERR_BAD_OPTION, RUN_ERR_LOG_GONE, RUN_ERR_NO_LEASE } from '@svc/contract/errors'
import { typeOfEntry } from './encode-part.ts'

/** Reads entries of logs at its own pace: of one run, or of all runs of a session. */
export interface EntryReader {
  /** The run of the entries of the last read. */
  readonly runId: string
  /** True if the last entry of the last read is the last part of its run. */
  readonly endsRun: boolean
  /** The place of the run in its session, for readers of sessions. */
  readonly ordinal?: number | undefined
  /** The `seq` of the last part read. */
  readonly after: number
  /** True if nothing more comes. */
  readonly ended: boolean
  /** True if the engine closed first; another process continues after what was read. */
  readonly suspended: boolean
  /** What ended a log before its last part, if anything did: a failure of the store, or RUN_ERR_LOG_GONE. */
  readonly fault: Error | undefined
  /** Reads the next entries, of one run; empty if there are none yet. */
  read(): Awaitable<readonly LogEntry[]>
  /** From now on, collects transient parts for `takeTransients`. */
  followTransients(): void
  /** The transient parts since the last call. */
  takeTransients(): readonly RunNotice[]
  /** Calls back once there is more to read than at the last `read`; immediately if there already is. */
  onNews(callback: () => void): void
  /** Reads again as if notified, in case a notification was lost. */
  lookAgain(): void
  close(): void
}

/** A transient part, and its run if that is not the one of the last read. */
export interface RunNotice extends TransientPart {
  readonly runId?: string | undefined
}

/** A part for the readers of the moment; it has no number and no place in the log. */
export interface TransientPart {
  readonly json: string
  readonly part: PartOf<'data'> & { at: number }
}

/** Passes the transient parts of runs on to their readers in this process. */
export class TransientParts {
  readonly #readers = new Map<string, Set<(part: TransientPart) => void>>()
  // For readers that come later, too.
  readonly #notices = new Map<string, TransientPart>()

  /** Calls `listener` with each transient part of a run, until the returned function is called. */
  follow(runId: string, listener: (part: TransientPart) => void): () => void {
    const readers = this.#readers.get(runId) ?? new Set()
    this.#readers.set(runId, readers.add(listener))
    const notice = this.#notices.get(runId)
    if (notice !== undefined) listener(notice)
    return () => {
      readers.delete(listener)
      if (readers.size === 0 && this.#readers.get(runId) === readers) this.#readers.delete(runId)
    }
  }

  /** Publishes a part that also later readers get, until it is replaced, or withdrawn by undefined. */
  notify(runId: string, notice: TransientPart | undefined): void {
    if (notice === undefined) return void this.#notices.delete(runId)
    this.#notices.set(runId, notice)
    this.publish(runId, notice)
  }

  publish(runId: string, part: TransientPart): void {
    for (const listener of this.#readers.get(runId) ?? []) listener(part)
  }
}

// Per reader: what a reader does not take in time is dropped, the oldest first.
const MAX_PARTS = 64
const MAX_LENGTH = 65_536

/** The transient parts that one reader has not taken yet, within limits. */
class TransientInbox {
  #parts: TransientPart[] = []
  #length = 0

  add(part: TransientPart): void {
    this.#parts.push(part)
    this.#length += part.json.length
    while (this.#parts.length > MAX_PARTS || this.#length > MAX_LENGTH)
      this.#length -= this.#parts.shift()!.json.length
  }

  /** Returns the parts, oldest first, and forgets them. */
  take(): readonly TransientPart[] {
    const parts = this.#parts
    if (parts.length === 0) return parts
    this.#parts = []
    this.#length = 0
    return parts
  }
}

type Listener = (runId: string, notice: TransientPart) => void

/** Shows the runs of this process that wait for their turn to the readers of their session. */
export class SessionNotices {
  readonly #readers = new Map<string, Set<Listener>>()
  // By session and run, for readers that come later, too.
  readonly #notices = new Map<string, Map<string, TransientPart>>()

  /** Calls `listener` with each notice of a session, until the returned function is called. */
  follow(sessionKey: string, listener: Listener): () => void {
    const readers = this.#readers.get(sessionKey) ?? new Set()
    // An object of its own: the same function may follow twice.
    const own: Listener = (runId, notice) => listener(runId, notice)
    this.#readers.set(sessionKey, readers.add(own))
    for (const [runId, notice] of this.#notices.get(sessionKey) ?? []) listener(runId, notice)
    return () => {
      readers.delete(own)
      if (readers.size === 0 && this.#readers.get(sessionKey) === readers) this.#readers.delete(sessionKey)
    }
  }

  /** Publishes the notice of a run, until it is replaced, or withdrawn by undefined. */
  notify(sessionKey: string, runId: string, notice: TransientPart | undefined): void {
    const notices = this.#notices.get(sessionKey) ?? new Map<string, TransientPart>()
    if (notice === undefined) notices.delete(runId)
    else notices.set(runId, notice)
    if (notices.size === 0) this.#notices.delete(sessionKey)
    else this.#notices.set(sessionKey, notices)
    if (notice === undefined) return
    for (const listener of this.#readers.get(sessionKey) ?? []) listener(runId, notice)
  }
}

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

  /** What ended the log before the run's last part, if anything did: a failure of the store, or RUN_ERR_LOG_GONE. */
  get fault(): Error | undefined {
    return this.#fault
  }

  /** Reads the next entries; empty if there are none yet. */
  read(): Awaitable<readonly LogEntry[]> {
    this.#news = false
    // A closed engine writes nothing more, so this read is final.
    const isLast = this.#closed?.aborted === true
    const { log } = this.#stores
    // The last parts of a run that this process has written may be those of another one, which has taken it over.
    const entries =
      this.#isOver && log.readCommitted !== undefined
        ? log.readCommitted(this.runId, this.#after, READ_LIMIT)
        : log.read(this.runId, this.#after, READ_LIMIT)
    return isPromise(entries) ? entries.then((all) => this.#take(all, isLast)) : this.#take(entries, isLast)
  }

  /** Calls back once there is more to read than at the last `read`; immediately if there already is. */
  onNews(callback: () => void): void {
    this.#onNews = callback
    if (this.#news) this.#notify()
  }

  /** Rereads log and record as if notified, in case a notification was lost. */
  lookAgain(): void {
    this.#isCurrent = false
    this.#news = true
    this.#notify()
  }

  close(): void {
    this.#onNews = undefined
    this.#unfollow()
    this.#unfollowTransients?.()
    this.#closed?.removeEventListener('abort', this.#leave)
  }

  #notify(): void {
    const callback = this.#onNews
    this.#onNews = undefined
    callback?.()
  }

  #wake(gone = false): void {
    this.#gone ||= gone
    this.#news = true
    this.#notify()
  }

  #take(entries: readonly LogEntry[], isLast: boolean): Awaitable<readonly LogEntry[]> {
    if (entries.length > 0) {
      if (this.#after > 0 && entries[0]!.seq > this.#after + 1) return this.#takeAfterGap(entries)
      return this.#accept(entries)
    }
    if (this.#gone || this.#isOver) {
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

  // The run continues from an earlier state of a store that was restored, under later numbers: what this reader has read last may be lost.
  #takeAfterGap(entries: readonly LogEntry[]): Awaitable<readonly LogEntry[]> {
    const known = findEnd(this.#stores, this.runId, this.#after)
    const take = (isLast: boolean | undefined) =>
      isLast === undefined ? this.#lose() : this.#accept(entries)
    return andThen(known, take)
  }

  #lose(): readonly LogEntry[] {
    this.#ended = true
    this.#fault = new RUN_ERR_LOG_GONE()
    return []
  }

  #accept(entries: readonly LogEntry[]): readonly LogEntry[] {
    const last = entries.at(-1)!
    this.#isCurrent = true
    this.#after = last.seq
    this.#ended = this.#endsRun = isTerminalEntry(last)
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

/**
 * Yields the parts of a run in order, including future ones, until its last part or until the signal aborts.
 * @throws RUN_ERR_LOG_GONE if the store was restored to a state without the parts that were yielded last
 */
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
    const { fault } = reader
    if (fault !== undefined && codeOf(fault) === 'RUN_ERR_LOG_GONE') throw fault
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

/**
 * True if the part with this `seq` is the run's last. 0 precedes the first part and is never the last.
 * @throws RUN_ERR_LOG_GONE if there is no such part; RUN_ERR_NO_LEASE if another process may have written it: this one may have lost the
 * run, and not know it yet
 */
export function isEnd(stores: Pick<Stores, 'log' | 'lease'>, runId: string, seq: number): Awaitable<boolean> {
  return andThen(findEnd(stores, runId, seq), requirePart)
}

function requirePart(isLast: boolean | undefined): boolean {
  if (isLast === undefined) throw new RUN_ERR_LOG_GONE()
  return isLast
}

const ONE: Readonly<ReadLimit> = Object.freeze({ entries: 1, bytes: 1 })

// As `isEnd`, but undefined if there is no such part.
function findEnd(
  { log, lease }: Pick<Stores, 'log' | 'lease'>,
  runId: string,
  seq: number
): Awaitable<boolean | undefined> {
  if (seq === 0) return false
  const isKnown = lease === undefined || lease.held
  const endAt = ([entry]: readonly LogEntry[]) =>
    entry?.seq === seq ? isTerminalPart(entry.part) : undefined
  const known = andThen(log.read(runId, seq - 1, ONE), endAt)
  // Another process may have given the reader a part that this one has written, and does not know to be committed.
  const committed = andThen(known, (isLast) => {
    if (isLast !== undefined || log.readCommitted === undefined) return isLast
    return andThen(log.readCommitted(runId, seq - 1, ONE), endAt)
  })
  return andThen(committed, (isLast) => {
    if (isLast === undefined && !isKnown) throw new RUN_ERR_NO_LEASE()
    return isLast
  })
}
