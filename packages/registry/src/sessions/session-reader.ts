import {
  isPromise,
  RUN_ERR_LOG_GONE,
  sessionKeyText,
  type Awaitable,
  type LogEntry,
  type SessionKey,
  type SessionRun
} from '@svc/contract'
import type { EntryReader, RunNotice } from '../engine/log/entry-reader.ts'
import { LogReader, type LogHost } from '../engine/log/log-reader.ts'
import type { SessionNotices } from '../turns/session-notices.ts'
import type { ChannelPosition } from './channel-position.ts'
import type { FollowedTail, SessionTails } from './session-tails.ts'

/** The source of a reader. */
export interface ChannelHost extends LogHost {
  readonly tails: Pick<SessionTails, 'follow'>
  readonly notices: Pick<SessionNotices, 'follow'>
}

// Notices that a reader has not taken yet.
const MAX_NOTICES = 64

/** Reads the logs of a session's runs one after the other, in the order of their turns; it holds nothing but its position. */
export class SessionReader implements EntryReader {
  readonly #host: ChannelHost
  readonly #key: SessionKey
  readonly #signal: AbortSignal | undefined
  readonly #tail: FollowedTail
  #unfollowNotices: (() => void) | undefined
  #notices: RunNotice[] = []
  #followsTransients = false
  // Where the next log begins.
  #next: ChannelPosition
  #runs: readonly SessionRun[] = []
  #run: SessionRun | undefined
  // Of the run under way; undefined between two runs.
  #log: LogReader | undefined
  #endsRun = false
  #news = false
  #onNews: (() => void) | undefined
  #ended = false
  #suspended = false
  #fault: Error | undefined
  #isClosed = false
  readonly #leave = () => this.#wake()

  /** @param signal ends it when it aborts */
  constructor(host: ChannelHost, key: SessionKey, position: ChannelPosition, signal?: AbortSignal) {
    this.#host = host
    this.#key = key
    this.#next = position
    this.#signal = signal
    this.#tail = host.tails.follow(key, () => this.#wake())
    for (const each of [host.closed, signal]) each?.addEventListener('abort', this.#leave, { once: true })
  }

  get runId(): string {
    return this.#run?.runId ?? ''
  }

  get ordinal(): number {
    return this.#run?.ordinal ?? this.#next.ordinal
  }

  get after(): number {
    return this.#log?.after ?? this.#next.seq
  }

  get endsRun(): boolean {
    return this.#endsRun
  }

  get ended(): boolean {
    return this.#ended
  }

  get suspended(): boolean {
    return this.#suspended
  }

  get fault(): Error | undefined {
    return this.#fault
  }

  followTransients(): void {
    if (this.#followsTransients) return
    this.#followsTransients = true
    this.#log?.followTransients()
    this.#unfollowNotices = this.#host.notices.follow(sessionKeyText(this.#key), (runId, notice) => {
      this.#notices.push({ ...notice, runId })
      if (this.#notices.length > MAX_NOTICES) this.#notices.shift()
      this.#wake()
    })
  }

  takeTransients(): readonly RunNotice[] {
    const notices = this.#notices
    this.#notices = []
    return [...notices, ...(this.#log?.takeTransients() ?? [])]
  }

  /** @throws RUN_ERR_LOG_GONE, RUN_ERR_SESSION_NOT_FOUND if the session is removed meanwhile */
  read(): Awaitable<readonly LogEntry[]> {
    this.#news = this.#endsRun = false
    if (this.#signal?.aborted) {
      this.#ended = true
      return []
    }
    if (this.#log === undefined) return this.#open()
    const entries = this.#log.read()
    return isPromise(entries) ? entries.then((all) => this.#take(all)) : this.#take(entries)
  }

  onNews(callback: () => void): void {
    this.#onNews = () => {
      this.#onNews = undefined
      callback()
    }
    if (this.#news) this.#onNews()
    else this.#log?.onNews(() => this.#wake())
  }

  lookAgain(): void {
    this.#tail.lookAgain()
    if (this.#log === undefined) this.#wake()
    else this.#log.lookAgain()
  }

  close(): void {
    this.#isClosed = true
    this.#onNews = undefined
    this.#tail.leave()
    this.#unfollowNotices?.()
    this.#log?.close()
    for (const each of [this.#host.closed, this.#signal]) each?.removeEventListener('abort', this.#leave)
  }

  #wake(): void {
    this.#news = true
    this.#onNews?.()
  }

  async #open(): Promise<readonly LogEntry[]> {
    const { closed } = this.#host
    // A closed engine begins no other run.
    const isLast = closed?.aborted === true
    const { ordinal, seq } = this.#next
    if (this.#runs.length === 0) this.#runs = await this.#tail.after(ordinal - 1)
    const [run, ...later] = this.#runs
    this.#runs = later
    if (run === undefined) {
      this.#ended = isLast
      return []
    }
    if (run.ordinal !== ordinal) throw new RUN_ERR_LOG_GONE()
    if (this.#isClosed) return []
    this.#run = run
    this.#log = new LogReader(this.#host, run.runId, seq, true)
    if (this.#followsTransients) this.#log.followTransients()
    return this.read()
  }

  #take(entries: readonly LogEntry[]): readonly LogEntry[] {
    const log = this.#log!
    if (!log.ended) return entries
    this.#suspended = log.suspended
    this.#fault = log.fault
    this.#ended = log.suspended || log.fault !== undefined
    if (this.#ended) return entries
    if (!log.endsRun) throw new RUN_ERR_LOG_GONE()
    this.#endsRun = true
    this.#next = { ordinal: this.ordinal + 1, seq: 0 }
    log.close()
    this.#log = undefined
    this.#wake()
    return entries
  }
}
