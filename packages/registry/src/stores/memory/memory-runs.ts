import type { ApprovalSummary, StoredRun } from '../../contract/ports/run-store.ts'
import { PassingMap, type Place } from '../passing-map.ts'
import type { LogEntry } from '../../contract/ports/stream-log.ts'
import { AgingMap } from './aging-map.ts'

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
  /** How its result begins; null while there is none. */
  preview: string | null
  steps: Map<string, unknown> | undefined
  /** What is listed of its approvals, by their ids. */
  summaries: Map<string, ApprovalSummary> | undefined
  followers: Set<(gone?: boolean) => void> | undefined
  /** Where it stands while it is under way. */
  place: Place<MemoryRun> | undefined
  /** Where its start key stands, if it has one. */
  claim: Place<MemoryRun> | undefined
}

// Its log, what was parsed of it or stands again in the result, and the objects around them.
const bytesOfRun = (run: MemoryRun) => run.bytes * 2 + run.entries.length * 100 + 1_000

/**
 * What the in-memory run store and stream log share. Runs under way are few and looked up at every part: they have a map
 * of their own, apart from the thousands that have ended.
 */
export class MemoryRuns {
  readonly #maxAge: number
  readonly #live = new PassingMap<string, MemoryRun>()
  // In the order in which they ended.
  readonly #ended: AgingMap<MemoryRun>
  readonly #byStartKey = new PassingMap<string, MemoryRun>()
  readonly #onRemove: ((runId: string) => void) | undefined

  /** @param onRemove what else was kept of a run may go with it */
  constructor({ maxAge, maxRuns, maxBytes }: MemoryRetention, onRemove?: (runId: string) => void) {
    this.#maxAge = maxAge
    this.#onRemove = onRemove
    this.#ended = new AgingMap({
      maxSize: maxRuns,
      maxWeight: maxBytes,
      weigh: bytesOfRun,
      onDrop: (runs) => {
        for (const run of runs) this.#gone(run)
      }
    })
  }

  /** Adds a run under way; when one was started with the same key, gives that one, and adds nothing. */
  add(record: StoredRun): MemoryRun | undefined {
    const { runId } = record
    // Ids are random: those of the thousands that have ended are not looked through.
    if (this.#live.has(runId)) throw new Error(`run ${runId} exists`)
    const key = startKeyOf(record)
    const earlier = key === undefined ? undefined : this.#byStartKey.get(key)
    if (earlier !== undefined) return earlier
    const run: MemoryRun = {
      record,
      entries: [],
      bytes: 0,
      preview: null,
      steps: undefined,
      summaries: undefined,
      followers: undefined,
      place: undefined,
      claim: undefined
    }
    if (key !== undefined) run.claim = this.#byStartKey.add(key, run)
    run.place = this.#live.add(runId, run)
    return undefined
  }

  find(runId: string): MemoryRun | undefined {
    return this.#live.get(runId) ?? this.#ended.get(runId)
  }

  /** The run, if it is under way. */
  findLive(runId: string): MemoryRun | undefined {
    return this.#live.get(runId)
  }

  live(): MemoryRun[] {
    return this.#live.values()
  }

  /** Every run, those that have ended first. */
  *all(): Iterable<MemoryRun> {
    yield* this.#ended.values()
    yield* this.#live.values()
  }

  /** Takes a run as ended, and drops the oldest ones that are too many. */
  end(run: MemoryRun): void {
    this.#live.leave(run.place)
    run.place = undefined
    // Only a run under way goes on.
    run.steps = undefined
    this.#ended.add(run.record.runId, run)
  }

  remove(runId: string): void {
    const run = this.#ended.remove(runId) ?? this.#live.get(runId)
    if (run === undefined) return
    this.#live.leave(run.place)
    this.#gone(run)
  }

  /** Drops the ended runs whose time is over; gives how many. */
  sweep(now: number): number {
    const over: string[] = []
    for (const { record } of this.#ended.values()) {
      if (record.updatedAt + this.#maxAge > now) break
      over.push(record.runId)
    }
    for (const runId of over) this.remove(runId)
    return over.length
  }

  #gone(run: MemoryRun): void {
    this.#byStartKey.leave(run.claim)
    wake(run, true)
    this.#onRemove?.(run.record.runId)
  }
}

function startKeyOf({ registry, owner, startKey }: StoredRun): string | undefined {
  return startKey === null ? undefined : `${registry}/${owner.length}:${owner}${startKey.key}`
}

/** Tells everyone who follows a run's log that there is something new, or that it is gone. */
export function wake(run: MemoryRun, gone = false): void {
  if (run.followers === undefined) return
  for (const follower of [...run.followers]) follower(gone)
}
