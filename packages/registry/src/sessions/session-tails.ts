import {
  sessionKeyText,
  type Awaitable,
  type SessionIndex,
  type SessionKey,
  type SessionRun,
  type StoredSession,
  type StreamLog
} from '@svc/contract'
import { RUN_ERR_BAD_POSITION, RUN_ERR_LOG_GONE, RUN_ERR_SESSION_NOT_FOUND } from '@svc/contract/errors'

// Runs looked up at once.
const PAGE = 32
// Newest runs that a tail keeps for readers that are a little behind.
const MAX_KEPT = 256

/** The newest runs of the sessions that are followed in this process: each is looked up once, however many readers wait for it. */
export class SessionTails {
  readonly #index: SessionIndex
  readonly #log: StreamLog
  readonly #tails = new Map<string, SessionTail>()

  constructor(index: SessionIndex, log: StreamLog) {
    this.#index = index
    this.#log = log
  }

  /** Follows a session; `leave` of what it returns ends that. `listener` is called after runs entered, or without need. */
  follow(key: SessionKey, listener: () => void): FollowedTail {
    const text = sessionKeyText(key)
    const tail = this.#tails.get(text) ?? new SessionTail(this.#index, this.#log, key)
    this.#tails.set(text, tail)
    // An object of its own: the same function may follow twice.
    const own = () => listener()
    tail.listeners.add(own)
    return {
      after: (ordinal) => tail.after(ordinal),
      lookAgain: () => tail.lookAgain(),
      leave: () => {
        tail.listeners.delete(own)
        if (tail.listeners.size > 0 || this.#tails.get(text) !== tail) return
        this.#tails.delete(text)
        tail.close()
      }
    }
  }
}

/** A session as one of its readers follows it. */
export interface FollowedTail extends Pick<SessionTail, 'after' | 'lookAgain'> {
  leave(): void
}

class SessionTail {
  readonly listeners = new Set<() => void>()
  readonly #index: SessionIndex
  readonly #log: StreamLog
  readonly #key: SessionKey
  readonly #unfollow: () => void
  // Of the newest run: a log that is followed keeps what its readers will ask for.
  #unfollowLog: (() => void) | undefined
  // Known are the runs after this ordinal, without a gap.
  #from: number | undefined
  #runs: SessionRun[] = []
  // True if there may be more runs than are known.
  #isStale = true
  #loading: Promise<void> | undefined
  #isClosed = false

  constructor(index: SessionIndex, log: StreamLog, key: SessionKey) {
    this.#index = index
    this.#log = log
    this.#key = key
    this.#unfollow = index.follow(key, () => void this.#look())
  }

  /** The next runs after this ordinal; empty if there are none yet. @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_LOG_GONE if it was removed */
  after(ordinal: number): Awaitable<readonly SessionRun[]> {
    const from = (this.#from ??= ordinal)
    if (ordinal < from) return this.#index.runs(this.#key, ordinal, PAGE)
    const known = this.#runs.slice(ordinal - from)
    if (known.length > 0 || (!this.#isStale && this.#loading === undefined)) return known
    return this.#load().then(() => this.after(ordinal))
  }

  /** Looks for runs again as if notified, in case a notification was lost. */
  lookAgain(): void {
    this.#isStale = true
  }

  close(): void {
    this.#isClosed = true
    this.#unfollow()
    this.#unfollowLog?.()
  }

  // What fails here fails again when a reader asks.
  async #look(): Promise<void> {
    this.#isStale = true
    if (this.#from !== undefined) await this.#load().catch(() => {})
    for (const listener of this.listeners) listener()
  }

  #load(): Promise<void> {
    return (this.#loading ??= this.#readOn().finally(() => (this.#loading = undefined)))
  }

  async #readOn(): Promise<void> {
    this.#isStale = false
    try {
      const runs = await this.#index.runs(this.#key, this.#last, PAGE)
      if (runs.length === 0) await this.#requireSession()
      this.#add(runs)
    } catch (err) {
      this.#isStale = true
      throw err
    }
  }

  // It may have been removed, and begun again.
  async #requireSession(): Promise<void> {
    const session = await this.#index.find(this.#key)
    if (session === undefined) throw new RUN_ERR_SESSION_NOT_FOUND(this.#key.sessionId)
    if (session.lastOrdinal < this.#last) throw new RUN_ERR_LOG_GONE()
  }

  get #last(): number {
    return this.#from! + this.#runs.length
  }

  #add(runs: readonly SessionRun[]): void {
    for (const run of runs) {
      // Those in between are no longer kept.
      if (run.ordinal !== this.#last + 1) this.#restartAt(run.ordinal - 1)
      this.#runs.push(run)
    }
    const newest = runs.at(-1)
    if (newest === undefined || this.#isClosed) return
    if (runs.length === PAGE) this.#isStale = true
    this.#unfollowLog?.()
    this.#unfollowLog = this.#log.follow(newest.runId, () => {})
    if (this.#runs.length > 2 * MAX_KEPT)
      this.#from! += this.#runs.splice(0, this.#runs.length - MAX_KEPT).length
  }

  #restartAt(ordinal: number): void {
    this.#from = ordinal
    this.#runs = []
  }
}

/** A place in the channel of a session: after a part of the run with this ordinal; `seq` 0 is its beginning. */
export interface ChannelPosition {
  readonly ordinal: number
  readonly seq: number
}

/** The id of a message of the channel, which continues after it: `<ordinal>.<seq>`. */
export function formatPosition({ ordinal, seq }: ChannelPosition): string {
  return `${ordinal}.${seq}`
}

/** Parses an id of the channel; `0.0` is the beginning of the first run. @throws RUN_ERR_BAD_POSITION */
export function parsePosition(id: string): ChannelPosition {
  const [, ordinal, seq] = /^(\d{1,15})\.(\d{1,15})$/.exec(id) ?? []
  if (ordinal === undefined || seq === undefined) throw new RUN_ERR_BAD_POSITION()
  const position = { ordinal: Number(ordinal), seq: Number(seq) }
  return position.ordinal === 0 && position.seq === 0 ? { ordinal: 1, seq: 0 } : position
}

/** Where the channel continues after the saved messages: the beginning of the run under way, or of the next one. */
export function presentOf({
  activeRun,
  lastOrdinal
}: Pick<StoredSession, 'activeRun' | 'lastOrdinal'>): ChannelPosition {
  return { ordinal: activeRun === null ? lastOrdinal + 1 : lastOrdinal, seq: 0 }
}
