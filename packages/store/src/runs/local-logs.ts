import type { LogEntry, ReadLimit } from '@svc/contract'
import { Tail, type TailLimit } from './tail.ts'

/** Called for new parts, and with `true` after the last one. */
export type Wake = (gone?: boolean) => void

/** What this process knows of a log. */
export interface LocalLog {
  readonly tail: Tail
  readonly followers: Set<Wake>
  /** Called once, when a reader begins to follow it. */
  onFollowed: (() => void) | undefined
  /** True while this process writes the log: what the tail does not have was not written. */
  isOwn: boolean
  /** True once the write of the last entry has begun: until it is here, the database may be ahead. */
  isEnding: boolean
  /** True once the last entry is here. */
  isOver: boolean
  /** Bytes of appends that no change of the run's record has counted yet. */
  uncounted: number
  /** The last `seq` of another node's log for which readers were woken by a look. */
  lookedAt: number
}

const FOLLOWED: TailLimit = { entries: 512, bytes: 262_144 }
// For the reader that comes soon after the start, if it is one of the newest runs.
const UNFOLLOWED: TailLimit = { entries: 32, bytes: 16_384 }
const MAX_UNFOLLOWED = 2_000

/** The logs that this process writes, and those that its readers follow. */
export class LocalLogs {
  readonly #logs = new Map<string, LocalLog>()
  // Own logs that keep entries without a reader.
  readonly #newest = new Set<string>()

  get(runId: string): LocalLog | undefined {
    return this.#logs.get(runId)
  }

  /** This process now writes the log; `isNew` if it is empty. */
  own(runId: string, isNew: boolean): void {
    const log = this.#open(runId)
    log.tail.reset(isNew ? 0 : undefined)
    log.isOwn = true
    log.isEnding = false
    this.#newest.add(runId)
    if (this.#newest.size > MAX_UNFOLLOWED) this.#dropOldest()
  }

  /** Another process may write the log from now on, or none does. */
  disown(runId: string): void {
    const log = this.#logs.get(runId)
    if (log === undefined) return
    log.isOwn = false
    this.#closeUnused(runId, log)
  }

  /** Disowns every log. */
  disownAll(): void {
    for (const [runId, { isOwn }] of this.#logs) if (isOwn) this.disown(runId)
  }

  /** Adds what this process has committed, and wakes the readers. */
  appended(runId: string, entries: readonly LogEntry[], isEnd: boolean): void {
    const log = this.#logs.get(runId)
    if (log === undefined) return
    if (log.followers.size > 0) log.tail.add(entries, FOLLOWED)
    else if (this.#newest.has(runId)) log.tail.add(entries, UNFOLLOWED)
    else log.tail.reset()
    this.wake(runId)
    log.isOver = isEnd
    this.#closeUnused(runId, log)
  }

  /** The entries after `after` if this process has them, none if there are none; undefined if only the database knows. */
  read(runId: string, after: number, limit: ReadLimit): LogEntry[] | undefined {
    const log = this.#logs.get(runId)
    const page = log?.tail.read(after, limit)
    if (page === undefined || page.length > 0) return page
    return log!.isOwn && (log!.isOver || !log!.isEnding) ? page : undefined
  }

  /** Keeps a page of another node's log for its other readers. */
  keep(runId: string, entries: readonly LogEntry[]): void {
    const log = this.#logs.get(runId)
    if (log !== undefined && !log.isOwn && log.followers.size > 0) log.tail.add(entries, FOLLOWED)
  }

  follow(runId: string, follower: Wake): () => void {
    const log = this.#open(runId)
    log.followers.add(follower)
    this.followed(runId)
    return () => {
      log.followers.delete(follower)
      if (this.#logs.get(runId) === log) this.#closeUnused(runId, log)
    }
  }

  /** A reader in some process begins to follow the log. */
  followed(runId: string): void {
    const log = this.#logs.get(runId)
    const act = log?.onFollowed
    if (act === undefined) return
    log!.onFollowed = undefined
    act()
  }

  /** As `StreamLog.onFollowed`, for the readers in this process. */
  onFollowed(runId: string, act: () => void): (() => void) | undefined {
    const log = this.#logs.get(runId)
    if (log?.isOwn !== true || log.followers.size > 0) return undefined
    log.onFollowed = act
    return () => {
      if (log.onFollowed === act) log.onFollowed = undefined
    }
  }

  /** Wakes the readers of a log: it has news, or no more are to come. */
  wake(runId: string, gone = false): void {
    const log = this.#logs.get(runId)
    if (log !== undefined) for (const follower of [...log.followers]) follower(gone)
  }

  /** The logs of other nodes that are followed here. */
  foreign(): string[] {
    return [...this.#logs].flatMap(([runId, { isOwn, followers }]) =>
      isOwn || followers.size === 0 ? [] : [runId]
    )
  }

  #open(runId: string): LocalLog {
    let log = this.#logs.get(runId)
    if (log === undefined) {
      log = {
        tail: new Tail(),
        followers: new Set(),
        onFollowed: undefined,
        isOwn: false,
        isEnding: false,
        isOver: false,
        uncounted: 0,
        lookedAt: 0
      }
      this.#logs.set(runId, log)
    }
    return log
  }

  #dropOldest(): void {
    const [runId = ''] = this.#newest
    this.#newest.delete(runId)
    const log = this.#logs.get(runId)
    if (log?.followers.size === 0) log.tail.reset()
  }

  #closeUnused(runId: string, log: LocalLog): void {
    if (log.isOwn && !log.isOver) return
    this.#newest.delete(runId)
    if (log.followers.size === 0) this.#logs.delete(runId)
  }
}
