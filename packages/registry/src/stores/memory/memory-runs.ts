import type { StoredRun } from '../run-store.ts'
import { PassingMap } from '../passing-map.ts'
import type { LogEntry } from '../stream-log.ts'
import { Fifo } from './fifo.ts'

/** How long and how many finished runs are kept in memory; runs under way are always kept. */
export interface MemoryRetention {
  /** Milliseconds; default 600,000. */
  maxAge: number
  /** Default 10,000. */
  maxRuns: number
  /** Bytes of their logs in all, estimated; default 268,435,456. */
  maxBytes: number
}

/** What is kept of finished runs when nothing else is said. */
export const DEFAULT_RETENTION: MemoryRetention = {
  maxAge: 600_000,
  maxRuns: 10_000,
  maxBytes: 268_435_456
}

/** A run in memory: its record, its log, and who follows it. */
export interface MemoryRun {
  record: StoredRun
  entries: LogEntry[]
  bytes: number
  steps: Map<string, unknown> | undefined
  followers: Set<(gone?: boolean) => void> | undefined
}

// Its log, what was parsed of it or stands again in the result, and the objects around them.
const bytesOfRun = (run: MemoryRun) => run.bytes * 2 + run.entries.length * 100 + 1_000

/**
 * What the in-memory run store and stream log share. Runs under way are few and looked up at every part: they have a map
 * of their own, apart from the thousands that have ended.
 */
export class MemoryRuns {
  readonly live = new PassingMap<string, MemoryRun>()
  readonly ended = new Map<string, MemoryRun>()
  readonly #retention: MemoryRetention
  readonly #onRemove: ((runId: string) => void) | undefined
  // In the order in which they ended; those that were removed since are passed over.
  readonly #oldest = new Fifo<StoredRun>()
  // Ids of the runs that were started with a key.
  readonly #byStartKey = new Map<string, string>()
  #bytes = 0

  /** @param onRemove what else was kept of a run may go with it */
  constructor(retention: MemoryRetention, onRemove?: (runId: string) => void) {
    this.#retention = retention
    this.#onRemove = onRemove
  }

  find(runId: string): MemoryRun | undefined {
    return this.live.get(runId) ?? this.ended.get(runId)
  }

  /** Keeps the start key of a new run, if it has one; gives the run that has it already. */
  claim(record: StoredRun): StoredRun | undefined {
    const key = startKeyOf(record)
    if (key === undefined) return undefined
    const earlier = this.#byStartKey.get(key)
    if (earlier === undefined) this.#byStartKey.set(key, record.runId)
    return earlier === undefined ? undefined : this.find(earlier)?.record
  }

  /** Every run, those that have ended first. */
  *all(): Iterable<MemoryRun> {
    yield* this.ended.values()
    yield* this.live.values()
  }

  /** Takes a run as ended, and drops the oldest ones that are too many. */
  end(run: MemoryRun): void {
    const { runId } = run.record
    this.live.delete(runId)
    this.ended.set(runId, run)
    this.#oldest.push(run.record)
    this.#bytes += bytesOfRun(run)
    const { maxRuns, maxBytes } = this.#retention
    while (this.ended.size > maxRuns || (this.#bytes > maxBytes && this.ended.size > 1)) this.#removeOldest()
  }

  remove(runId: string): void {
    const run = this.find(runId)
    if (run === undefined) return
    if (this.ended.delete(runId)) this.#bytes -= bytesOfRun(run)
    else this.live.delete(runId)
    const key = startKeyOf(run.record)
    if (key !== undefined) this.#byStartKey.delete(key)
    wake(run, true)
    this.#onRemove?.(runId)
  }

  /** Drops the ended runs whose time is over; gives how many. */
  sweep(now: number): number {
    const before = this.ended.size
    for (;;) {
      const oldest = this.#oldest.peek()
      if (oldest === undefined || oldest.updatedAt + this.#retention.maxAge > now)
        return before - this.ended.size
      this.#removeOldest()
    }
  }

  #removeOldest(): void {
    this.remove(this.#oldest.shift()!.runId)
  }
}

function startKeyOf({ owner, startKey }: StoredRun): string | undefined {
  return startKey === null ? undefined : `${owner.length}:${owner}${startKey.key}`
}

/** Tells everyone who follows a run's log that there is something new, or that it is gone. */
export function wake(run: MemoryRun, gone = false): void {
  if (run.followers === undefined) return
  for (const follower of [...run.followers]) follower(gone)
}
