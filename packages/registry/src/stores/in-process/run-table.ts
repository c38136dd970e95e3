import { isPromise, type Awaitable, type RunFence, type StoredRun, type StoredSteer } from '@svc/contract'
import { RUN_ERR_FENCED } from '@svc/contract/errors'
import { PassingMap } from '@svc/contract/stores'
import { AgingMap } from './aging-map.ts'
import { TextBlocks } from './kept-text.ts'
import { pack, PackedRun, RunEntry, type KeptRun } from './run-entry.ts'

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

/**
 * The data that the in-process run store and stream log share. Unfinished runs are few and looked up for every part, so they have a
 * map of their own, apart from the thousands that have ended.
 */
export class RunTable {
  readonly #maxAge: number
  readonly #live = new PassingMap<string, RunEntry>()
  // In the order of their ends.
  readonly #ended: AgingMap<KeptRun>
  readonly #blocks = new TextBlocks()
  readonly #byStartKey = new PassingMap<string, KeptRun>()
  readonly #steers = new Map<string, StoredSteer>()
  readonly #listeners = new Set<RemovalListener>()

  constructor({ maxAge, maxRuns, maxBytes }: RunRetention) {
    this.#maxAge = maxAge
    this.#ended = new AgingMap({
      maxSize: maxRuns,
      maxWeight: maxBytes,
      weigh: (run) => run.weight,
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
    if (earlier !== undefined) return earlier.open()
    const run = new RunEntry(record)
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
    return key === undefined ? undefined : this.#byStartKey.get(key)?.open()
  }

  /** As `RunStore.freeStartKey`. */
  freeStartKey(runId: string): void {
    const kept = this.#ended.get(runId)
    if (kept?.claim === undefined) return
    this.#byStartKey.leave(kept.claim)
    const run = kept.open()
    run.record = { ...run.record, startKey: null }
    run.packed?.drop(this.#blocks)
    run.claim = run.packed = undefined
    this.#replace(run)
  }

  find(runId: string): RunEntry | undefined {
    return this.#live.get(runId) ?? this.#ended.get(runId)?.open()
  }

  /** The run, which is followed from now on. */
  findFollowed(runId: string): RunEntry | undefined {
    const run = this.find(runId)
    if (run?.packed !== undefined) this.#ended.replace(runId, claimed(run))
    return run
  }

  /** The run has no followers any more. */
  leftAlone(run: RunEntry): void {
    if (run.slot === undefined && this.#ended.get(run.record.runId) === run) this.#replace(run)
  }

  /** The run if it is unfinished. */
  findLive(runId: string): RunEntry | undefined {
    return this.#live.get(runId)
  }

  /** Increments and returns the epoch of an unfinished run, which then waits no more. */
  lease(run: RunEntry): number {
    run.leaveQueue()
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
  *all(): Iterable<KeptRun> {
    yield* this.#ended.values()
    yield* this.#live.values()
  }

  /** Marks a run as ended, and drops the oldest runs beyond the limits. */
  end(run: RunEntry): void {
    this.#live.leave(run.slot)
    run.seal()
    this.#ended.add(run.record.runId, claimed(pack(run, this.#blocks)))
  }

  remove(runId: string): void {
    const ended = this.#ended.remove(runId)
    if (ended !== undefined) return this.#gone([ended])
    const run = this.#live.get(runId)
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
    for (const { head } of this.#ended.values()) {
      if (head.updatedAt + this.#maxAge > now) break
      over.push(head.runId)
    }
    for (const runId of over) this.remove(runId)
    return over.length
  }

  #replace(run: RunEntry): void {
    this.#ended.replace(run.record.runId, claimed(pack(run, this.#blocks)))
  }

  #gone(runs: Iterable<KeptRun>): void {
    const runIds: string[] = []
    for (const run of runs) {
      this.#byStartKey.leave(run.claim)
      runIds.push(run.head.runId)
      if (run instanceof PackedRun) {
        run.drop(this.#blocks)
        continue
      }
      run.packed?.drop(this.#blocks)
      run.leaveQueue()
      for (const steerId of run.steers ?? []) this.#steers.delete(steerId)
      run.wake(true)
    }
    for (const listener of this.#listeners) {
      const done = listener(runIds)
      // Runs in memory are not worth keeping for data that could not be removed.
      if (isPromise(done)) done.catch(() => {})
    }
  }
}

// The start key leads to it from now on.
function claimed(run: KeptRun): KeptRun {
  if (run.claim !== undefined) run.claim.value = run
  return run
}

function startKeyOf({
  registry,
  owner,
  startKey
}: Pick<StoredRun, 'registry' | 'owner' | 'startKey'>): string | undefined {
  return startKey === null ? undefined : `${registry}/${owner.length}:${owner}${startKey.key}`
}
