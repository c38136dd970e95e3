import {
  isPromise,
  type Awaitable,
  type InputSummary,
  type LogEntry,
  type ReadLimit,
  type RunFence,
  type RunStats,
  type StoredRun,
  type StoredSteer
} from '@svc/contract'
import { RUN_ERR_FENCED } from '@svc/contract/errors'
import { PassingMap, sizeOfEntry, TextEntry, type Slot } from '@svc/contract/stores'
import { AgingMap } from './aging-map.ts'

/** Bytes of a string, its slot and its time, without the characters. */
const TEXT_OVERHEAD = 40
/** Bytes of an entry with its slot and its time, without its fields. */
const ENTRY_OVERHEAD = 64

/** The log of one run in memory. Of plain text, which is most of a log, it keeps no entries: only the strings and their times. */
class CompactLog {
  // The entry numbered `seq` is at index `seq - 1`.
  #entries: (LogEntry | string)[] = []
  // Of texts, in milliseconds since the first part: small integers take no memory of their own.
  #times: number[] = []
  #startedAt = 0
  #size = 0
  #held = 0

  /** Characters of its JSON, about. */
  get size(): number {
    return this.#size
  }

  /** Bytes that it takes in memory if a character takes one, about. */
  get held(): number {
    return this.#held
  }

  push(entry: LogEntry): void {
    const size = sizeOfEntry(entry)
    this.#size += size
    if (entry instanceof TextEntry) {
      const { at, text } = entry
      if (this.#entries.length === 0) this.#startedAt = at
      this.#entries.push(text)
      this.#times.push(at - this.#startedAt)
      this.#held += text.length + TEXT_OVERHEAD
    } else {
      this.#entries.push(entry)
      this.#times.push(0)
      // An entry with JSON keeps what is parsed of it, too; any other has an object about as large as its JSON.
      this.#held += ENTRY_OVERHEAD + (entry.size === undefined ? 3 * size : size)
    }
  }

  /** As `StreamLog.read`. */
  read(after: number, limit: ReadLimit): LogEntry[] {
    const end = Math.min(this.#entries.length, after + limit.entries)
    const entries: LogEntry[] = []
    let bytes = 0
    for (let index = after; index < end; index++) {
      const entry = this.#at(index)
      bytes += sizeOfEntry(entry)
      if (bytes > limit.bytes && entries.length > 0) break
      entries.push(entry)
    }
    return entries
  }

  /** Nothing more is pushed: gives back the memory reserved for it. */
  seal(): void {
    this.#entries = this.#entries.slice()
    this.#times = this.#times.slice()
  }

  #at(index: number): LogEntry {
    const kept = this.#entries[index]!
    return typeof kept === 'string'
      ? new TextEntry(index + 1, this.#startedAt + this.#times[index]!, kept)
      : kept
  }
}

/** How much is kept of finished runs; those in progress are always kept. */
export interface RunRetention {
  /** Milliseconds. */
  maxAge: number
  maxRuns: number
  /** Bytes of their logs in all, estimated. */
  maxBytes: number
}

/** Gets the ids of removed runs, so that other data of theirs can be removed. */
type RemovalListener = (runIds: readonly string[]) => Awaitable<void>

/** A run in process memory: its record, its log, and its followers. */
export interface RunEntry {
  record: StoredRun
  readonly log: CompactLog
  /** The beginning of its result; null while there is none. */
  preview: string | null
  /** What it took; null until it ends. */
  stats: RunStats | null
  steps: Map<string, unknown> | undefined
  /** Summaries of its inputs, by their ids. */
  summaries: Map<string, InputSummary> | undefined
  followers: Set<(gone?: boolean) => void> | undefined
  /** The waiting runs of its owner while it waits in the queue, in order. */
  queue: Map<string, RunEntry> | undefined
  /** The ids of messages that were to join it. */
  steers: string[] | undefined
  /** Its slot while it is unfinished. */
  slot: Slot<RunEntry> | undefined
  /** The slot of its start key, if it has one. */
  claim: Slot<RunEntry> | undefined
}

/** Bytes of a finished run without its log and text: its record, its result, and their places in maps. */
const RUN_OVERHEAD = 1_100
// Characters beyond Latin-1 take two bytes.
const WIDE = /[\u0100-\uffff]/

function bytesOfRun({ log, record, preview }: RunEntry): number {
  const width = WIDE.test(preview ?? '') ? 2 : 1
  return (log.held + (record.result?.text.length ?? 0)) * width + RUN_OVERHEAD
}

/**
 * The data that the in-process run store and stream log share. Unfinished runs are few and looked up for every part, so they have a
 * map of their own, apart from the thousands that have ended.
 */
export class RunTable {
  readonly #maxAge: number
  readonly #live = new PassingMap<string, RunEntry>()
  // In the order of their ends.
  readonly #ended: AgingMap<RunEntry>
  readonly #byStartKey = new PassingMap<string, RunEntry>()
  readonly #steers = new Map<string, StoredSteer>()
  readonly #listeners = new Set<RemovalListener>()

  constructor({ maxAge, maxRuns, maxBytes }: RunRetention) {
    this.#maxAge = maxAge
    this.#ended = new AgingMap({
      maxSize: maxRuns,
      maxWeight: maxBytes,
      weigh: bytesOfRun,
      onDrop: (runs) => this.#gone(runs)
    })
  }

  /** Adds an unfinished run; if one was started with the same key, adds nothing and returns that one. */
  add(record: StoredRun): RunEntry | undefined {
    const { runId } = record
    // Ids are random, so the thousands of ended runs are not searched.
    if (this.#live.has(runId)) throw new Error(`run ${runId} exists`)
    const key = startKeyOf(record)
    const earlier = key === undefined ? undefined : this.#byStartKey.get(key)
    if (earlier !== undefined) return earlier
    const run: RunEntry = {
      record,
      log: new CompactLog(),
      preview: null,
      stats: null,
      steps: undefined,
      summaries: undefined,
      followers: undefined,
      queue: undefined,
      steers: undefined,
      slot: undefined,
      claim: undefined
    }
    if (key !== undefined) run.claim = this.#byStartKey.add(key, run)
    run.slot = this.#live.add(runId, run)
    return undefined
  }

  /** As `RunStore.offerSteer`. */
  offerSteer(steer: StoredSteer): StoredSteer | undefined {
    const earlier = this.#steers.get(steer.steerId)
    const run = this.#live.get(steer.runId)
    if (earlier !== undefined || run === undefined) return earlier
    this.#steers.set(steer.steerId, structuredClone(steer))
    ;(run.steers ??= []).push(steer.steerId)
    return steer
  }

  findSteer(steerId: string): StoredSteer | undefined {
    return this.#steers.get(steerId)
  }

  /** The run that was started with the key. */
  findStarted(record: Pick<StoredRun, 'registry' | 'owner' | 'startKey'>): RunEntry | undefined {
    const key = startKeyOf(record)
    return key === undefined ? undefined : this.#byStartKey.get(key)
  }

  /** As `RunStore.freeStartKey`. */
  freeStartKey(runId: string): void {
    const run = this.#ended.get(runId)
    if (run?.claim === undefined) return
    this.#byStartKey.leave(run.claim)
    run.claim = undefined
    run.record = { ...run.record, startKey: null }
  }

  find(runId: string): RunEntry | undefined {
    return this.#live.get(runId) ?? this.#ended.get(runId)
  }

  /** The run if it is unfinished. */
  findLive(runId: string): RunEntry | undefined {
    return this.#live.get(runId)
  }

  /** Increments and returns the epoch of an unfinished run, which then waits no more. */
  lease(run: RunEntry): number {
    leaveQueue(run)
    return ++run.record.epoch
  }

  /** Does nothing without a fence. @throws RUN_ERR_FENCED as `RunFence` says */
  requireEpoch(fence: RunFence | undefined): void {
    if (fence !== undefined && this.find(fence.runId)?.record.epoch !== fence.epoch)
      throw new RUN_ERR_FENCED(fence.runId)
  }

  live(): RunEntry[] {
    return this.#live.values()
  }

  /** Every run, ended ones first. */
  *all(): Iterable<RunEntry> {
    yield* this.#ended.values()
    yield* this.#live.values()
  }

  /** Marks a run as ended, and drops the oldest runs beyond the limits. */
  end(run: RunEntry): void {
    this.#live.leave(run.slot)
    run.slot = undefined
    run.log.seal()
    // Only unfinished runs are resumed.
    run.steps = undefined
    this.#ended.add(run.record.runId, run)
  }

  remove(runId: string): void {
    const run = this.#ended.remove(runId) ?? this.#live.get(runId)
    if (run === undefined) return
    this.#live.leave(run.slot)
    this.#gone([run])
  }

  /** Calls the listener with the ids of runs that are removed, until the returned function is called. */
  onRemove(listener: RemovalListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Drops the expired runs; returns their number. */
  sweep(now: number): number {
    const over: string[] = []
    for (const { record } of this.#ended.values()) {
      if (record.updatedAt + this.#maxAge > now) break
      over.push(record.runId)
    }
    for (const runId of over) this.remove(runId)
    return over.length
  }

  #gone(runs: Iterable<RunEntry>): void {
    const runIds: string[] = []
    for (const run of runs) {
      leaveQueue(run)
      this.#byStartKey.leave(run.claim)
      for (const steerId of run.steers ?? []) this.#steers.delete(steerId)
      wake(run, true)
      runIds.push(run.record.runId)
    }
    for (const listener of this.#listeners) {
      const done = listener(runIds)
      // Runs in memory are not worth keeping for data that could not be removed.
      if (isPromise(done)) done.catch(() => {})
    }
  }
}

function leaveQueue(run: RunEntry): void {
  run.queue?.delete(run.record.runId)
  run.queue = undefined
}

function startKeyOf({
  registry,
  owner,
  startKey
}: Pick<StoredRun, 'registry' | 'owner' | 'startKey'>): string | undefined {
  return startKey === null ? undefined : `${registry}/${owner.length}:${owner}${startKey.key}`
}

/** Records a step once. */
export function recordStep(run: RunEntry, key: string, output: unknown): void {
  run.steps ??= new Map()
  if (!run.steps.has(key)) run.steps.set(key, structuredClone(output))
}

/** Notifies the followers of a run's log that it has grown, or is gone. */
export function wake(run: RunEntry, gone = false): void {
  if (run.followers === undefined) return
  for (const follower of Array.from(run.followers)) follower(gone)
}
