import {
  isPromise,
  type Awaitable,
  type CheckpointStore,
  type LogEntry,
  type ReadLimit,
  type RunStore,
  type RunSummary,
  type StoredRun,
  type StreamLog
} from '@svc/contract'
import { RUN_ERR_FENCED, RUN_ERR_TOO_MANY_RUNS } from '@svc/contract/errors'
import { sizeOfEntry } from '@svc/contract/stores'
import type { Kysely } from 'kysely'
import { findByStartKey, findRun } from '../rows/run-lists.ts'
import { toRunRow } from '../rows/run-rows.ts'
import type { Tables } from '../tables.ts'
import type { RunWriter } from './run-write.ts'

/** How much of a log is kept: entries, and characters of JSON. */
export interface TailLimit {
  readonly entries: number
  readonly bytes: number
}

/** The newest committed entries of one log. Entries never change, so none is ever outdated. */
class Tail {
  // Oldest first.
  #entries: LogEntry[] = []
  #bytes = 0
  // The `seq` before the first entry; undefined if the position in the log is unknown.
  #before: number | undefined

  /** The `seq` of the last entry; 0 if that is unknown. */
  get last(): number {
    return this.#before === undefined ? 0 : this.#before + this.#entries.length
  }

  /** Drops all entries; the next one follows `before`, if given. */
  reset(before?: number): void {
    this.#entries = []
    this.#bytes = 0
    this.#before = before
  }

  /** Adds entries that follow the last one. Those it has are ignored; after a gap it begins again. */
  add(entries: readonly LogEntry[], limit: TailLimit): void {
    for (const entry of entries) {
      if (this.#before !== undefined && entry.seq <= this.last) continue
      if (this.#before === undefined || entry.seq > this.last + 1) this.reset(entry.seq - 1)
      this.#entries.push(entry)
      this.#bytes += sizeOfEntry(entry)
    }
    if (this.#entries.length > limit.entries || this.#bytes > limit.bytes) this.#shorten(limit)
  }

  /** The entries after a `seq`; undefined if some of them are not here. */
  read(after: number, limit: ReadLimit): LogEntry[] | undefined {
    if (this.#before === undefined || after < this.#before) return undefined
    return takePage(this.#entries, limit, after - this.#before)
  }

  // To half, so that not every entry moves the others.
  #shorten(limit: TailLimit): void {
    let dropped = 0
    const isTooLong = () =>
      this.#entries.length - dropped > limit.entries >> 1 || this.#bytes > limit.bytes >> 1
    while (dropped < this.#entries.length && isTooLong())
      this.#bytes -= sizeOfEntry(this.#entries[dropped++]!)
    this.#entries = this.#entries.slice(dropped)
    this.#before! += dropped
  }
}

/** The entries from an index on that one read may return; one at least, however large. */
export function takePage(entries: readonly LogEntry[], limit: ReadLimit, from = 0): LogEntry[] {
  const page: LogEntry[] = []
  let bytes = 0
  for (let index = from; index < entries.length && page.length < limit.entries; index++) {
    const entry = entries[index]!
    bytes += sizeOfEntry(entry)
    if (bytes > limit.bytes && page.length > 0) break
    page.push(entry)
  }
  return page
}

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
  /** The `seq` of the last entry that this process has written; 0 for none. */
  written: number
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
  // Unfinished runs of this process that are to be resumed or ended.
  readonly #abandoned = new Set<string>()

  get(runId: string): LocalLog | undefined {
    return this.#logs.get(runId)
  }

  /** This process now writes the log; `isNew` if it is empty. */
  own(runId: string, isNew: boolean): void {
    const log = this.#open(runId)
    log.tail.reset(isNew ? 0 : undefined)
    log.isOwn = true
    log.isEnding = false
    log.written = 0
    this.#abandoned.delete(runId)
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

  /** Disowns every log, and forgets what it had. */
  disownAll(): void {
    this.forget()
    this.#abandoned.clear()
    for (const [runId, { isOwn }] of this.#logs) if (isOwn) this.disown(runId)
  }

  /** Forgets what the logs had: the database may have less. */
  forget(): void {
    for (const { tail } of this.#logs.values()) tail.reset()
  }

  /** This process writes the log of an unfinished run no longer, and no other does yet. */
  abandon(runId: string): void {
    this.disown(runId)
    this.#abandoned.add(runId)
    this.wake(runId, true)
  }

  /** The last `seq` that this process has written of each unfinished log of its own; 0 if it does not know. */
  written(): Map<string, number> {
    const written = new Map(Array.from(this.#abandoned, (runId) => [runId, 0]))
    for (const [runId, log] of this.#logs) if (log.isOwn && !log.isOver) written.set(runId, log.written)
    return written
  }

  /** Adds what this process has committed, and wakes the readers. */
  appended(runId: string, entries: readonly LogEntry[], isEnd: boolean): void {
    const log = this.#logs.get(runId)
    if (isEnd) this.#abandoned.delete(runId)
    if (log === undefined) return
    log.written = entries.at(-1)?.seq ?? log.written
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
  onFollowed(runId: string, act: () => void): boolean {
    const log = this.#logs.get(runId)
    if (log?.isOwn !== true || log.followers.size > 0) return false
    log.onFollowed = act
    return true
  }

  /** Wakes the readers of a log: it has news, or no more are to come. */
  wake(runId: string, gone = false): void {
    const log = this.#logs.get(runId)
    if (log !== undefined) for (const follower of Array.from(log.followers)) follower(gone)
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
        written: 0,
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

/** What new runs need. */
export interface WrittenRunsHost {
  readonly db: Kysely<Tables>
  readonly writer: RunWriter
  readonly log: StreamLog
  readonly logs: LocalLogs
  /** The node that has new runs; null without nodes. @throws why it is no node of the database now */
  nodeId(): Awaitable<string | null>
}

// A run with the same start key may be removed between two attempts.
const ATTEMPTS = 3

/** The part of a run store that runs write through. */
export function createWrittenRuns(host: WrittenRunsHost): Pick<RunStore, 'create' | 'recordStep'> {
  const { log, logs } = host
  return {
    async create(run, maxPerOwner) {
      const named = host.nodeId()
      const nodeId = isPromise(named) ? await named : named
      // Its readers may follow it before the write is acknowledged.
      logs.own(run.runId, true)
      try {
        const earlier = await createRun(host, run, nodeId, maxPerOwner)
        if (earlier !== undefined) logs.disown(run.runId)
        return earlier
      } catch (err) {
        logs.disown(run.runId)
        throw err
      }
    },
    // With no part: the log counts what its run has written.
    recordStep: (runId, epoch, key, output) => log.append(runId, epoch, [], undefined, [{ key, output }])
  }
}

/** The part of a checkpoint store that runs write through. */
export function createWrittenCheckpoints(writer: RunWriter): Pick<CheckpointStore, 'save' | 'remove'> {
  return {
    async save(runId, epoch, state) {
      const write = { kind: 'save', runId, epoch, state: JSON.stringify(state) } as const
      if (!(await writer.write(write))) throw new RUN_ERR_FENCED(runId)
    },
    async remove(runId) {
      await writer.write({ kind: 'forget', runId })
    }
  }
}

async function createRun(
  { db, writer }: WrittenRunsHost,
  run: StoredRun,
  nodeId: string | null,
  most: number | undefined
): Promise<RunSummary | undefined> {
  const { runId, startKey } = run
  for (let attempt = 1; ; attempt++) {
    if (await writer.write({ kind: 'create', runId, row: toRunRow(run), nodeId, most })) return undefined
    const earlier = await findByStartKey(db, run)
    if (earlier !== undefined) return earlier
    if ((await findRun(db, runId)) !== undefined) throw new Error(`the id of run ${runId} is taken`)
    if (most !== undefined && startKey === null) throw new RUN_ERR_TOO_MANY_RUNS()
    if (attempt === ATTEMPTS)
      throw most === undefined ? new Error(`run ${runId} cannot be created`) : new RUN_ERR_TOO_MANY_RUNS()
  }
}
