import type { ApprovalSummary, StoredRun } from '../../contract/ports/run-store.ts'
import { PassingMap, type Place } from '../passing-map.ts'
import type { LogEntry } from '../../contract/ports/stream-log.ts'
import { AgingMap } from './aging-map.ts'

/** How much is kept of finished runs; those in progress are always kept. */
export interface RunRetention {
  /** Milliseconds. */
  maxAge: number
  maxRuns: number
  /** Bytes of their logs in all, estimated. */
  maxBytes: number
}

/** A run in memory: its record, its log, and who follows it. */
export interface RunEntry {
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
  place: Place<RunEntry> | undefined
  /** Where its start key stands, if it has one. */
  claim: Place<RunEntry> | undefined
}

// Its log, what was parsed of it or stands again in the result, and the objects around them.
const bytesOfRun = (run: RunEntry) => run.bytes * 2 + run.entries.length * 100 + 1_000

/**
 * What the in-memory run store and stream log share. Runs under way are few and looked up at every part: they have a map
 * of their own, apart from the thousands that have ended.
 */
export class RunTable {
  readonly #maxAge: number
  readonly #live = new PassingMap<string, RunEntry>()
  // In the order in which they ended.
  readonly #ended: AgingMap<RunEntry>
  readonly #byStartKey = new PassingMap<string, RunEntry>()
  readonly #onRemove: ((runId: string) => void) | undefined

  /** @param onRemove what else was kept of a run may go with it */
  constructor({ maxAge, maxRuns, maxBytes }: RunRetention, onRemove?: (runId: string) => void) {
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
  add(record: StoredRun): RunEntry | undefined {
    const { runId } = record
    // Ids are random: those of the thousands that have ended are not looked through.
    if (this.#live.has(runId)) throw new Error(`run ${runId} exists`)
    const key = startKeyOf(record)
    const earlier = key === undefined ? undefined : this.#byStartKey.get(key)
    if (earlier !== undefined) return earlier
    const run: RunEntry = {
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

  find(runId: string): RunEntry | undefined {
    return this.#live.get(runId) ?? this.#ended.get(runId)
  }

  /** The run, if it is under way. */
  findLive(runId: string): RunEntry | undefined {
    return this.#live.get(runId)
  }

  live(): RunEntry[] {
    return this.#live.values()
  }

  /** Every run, those that have ended first. */
  *all(): Iterable<RunEntry> {
    yield* this.#ended.values()
    yield* this.#live.values()
  }

  /** Takes a run as ended, and drops the oldest ones that are too many. */
  end(run: RunEntry): void {
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

  #gone(run: RunEntry): void {
    this.#byStartKey.leave(run.claim)
    wake(run, true)
    this.#onRemove?.(run.record.runId)
  }
}

function startKeyOf({ registry, owner, startKey }: StoredRun): string | undefined {
  return startKey === null ? undefined : `${registry}/${owner.length}:${owner}${startKey.key}`
}

/** Tells everyone who follows a run's log that there is something new, or that it is gone. */
export function wake(run: RunEntry, gone = false): void {
  if (run.followers === undefined) return
  for (const follower of [...run.followers]) follower(gone)
}
