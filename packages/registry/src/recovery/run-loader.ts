import {
  isPromise,
  MAX_TIMER,
  timeOf,
  toLoggable,
  within,
  type Awaitable,
  type LeftRun,
  type Runnable,
  type RunnableKey,
  type Stores
} from '@svc/contract'
import pLimit from 'p-limit'
import type { LimitFunction } from 'p-limit'
import type { Unloaded } from '../engine/run-host.ts'
import type { LiveRuns, OwnerCounts } from '../engine/live-runs.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'
import { deathsOf, resumeRun, type ResumeHost } from './resume-run.ts'
import { endLeftRun, isDamaged } from './left-runs.ts'

/** The fields of an unfinished run with which it can be loaded. */
export interface ParkedRun extends Omit<LeftRun, 'cancelRequested' | 'checkpointBytes'> {
  /** If this process has unloaded it. */
  readonly unloaded?: Unloaded | undefined
}

/** An action on a run that is still parked at a given time. */
interface Due {
  /** Milliseconds since the epoch, as `timeOf`. */
  at: number
  act: (run: ParkedRun) => void
  /** True if the run waits for its runnable to be registered. */
  awaitsRunnable?: boolean
  /** The inputs that a dormant run waits for. */
  inputIds?: readonly string[]
}

interface Parked {
  run: ParkedRun
  due: Due | undefined
  timer: NodeJS.Timeout | undefined
}

/** The unfinished runs that are not loaded: they wait for their runnable, for an answer, for a time, or for their turn. */
export class ParkedRuns {
  readonly #owners: OwnerCounts
  readonly #limits: Pick<LiveRuns, 'hold'>
  readonly #stores: Pick<Stores, 'lease'>
  readonly #parked = new Map<string, Parked>()

  /** @param stores whose clock decides when a run is due */
  constructor(owners: OwnerCounts, limits: Pick<LiveRuns, 'hold'>, stores: Pick<Stores, 'lease'>) {
    this.#limits = limits
    this.#owners = owners
    this.#stores = stores
  }

  /** Parks a run, or parks it again with another due time. */
  park(run: ParkedRun, due?: Due): void {
    const { runId, registry, kind, name, owner, unloaded } = run
    this.take(runId)
    // Only these fields: there may be very many parked runs.
    const parked: Parked = { run: { runId, registry, kind, name, owner, unloaded }, due, timer: undefined }
    this.#parked.set(runId, parked)
    this.#owners.add(owner)
    this.#limits.hold(owner, unloaded?.heldBytes ?? 0)
    if (due === undefined) return
    const wait = () => {
      const left = due.at - timeOf(this.#stores)
      if (left <= 0) due.act(parked.run)
      else parked.timer = setTimeout(wait, Math.min(left, MAX_TIMER)).unref()
    }
    parked.timer = setTimeout(wait, 0).unref()
  }

  get(runId: string): ParkedRun | undefined {
    return this.#parked.get(runId)?.run
  }

  /** True if the run waits for its runnable to be registered. */
  awaitsRunnable(runId: string): boolean {
    return this.#parked.get(runId)?.due?.awaitsRunnable === true
  }

  /** False if a dormant run waits for other inputs only. */
  awaitsInput(runId: string, inputId: string): boolean {
    return this.#parked.get(runId)?.due?.inputIds?.includes(inputId) ?? true
  }

  /** The runs that wait for a runnable. */
  awaiting({ registry, kind, name }: RunnableKey): ParkedRun[] {
    const awaiting = [...this.#parked.values()].filter(
      ({ run, due }) =>
        due?.awaitsRunnable && run.registry === registry && run.kind === kind && run.name === name
    )
    return awaiting.map(({ run }) => run)
  }

  /** Removes a run; true for the call that did. */
  take(runId: string): boolean {
    const parked = this.#parked.get(runId)
    if (parked === undefined) return false
    clearTimeout(parked.timer)
    const { owner, unloaded } = parked.run
    this.#owners.remove(owner)
    this.#limits.hold(owner, -(unloaded?.heldBytes ?? 0))
    return this.#parked.delete(runId)
  }

  /** Removes all runs. */
  clear(): void {
    for (const runId of this.#parked.keys()) this.take(runId)
  }
}

// Runs loaded at once; of those with a large checkpoint (in bytes), one.
const LOADED_AT_ONCE = 8
const LARGE = 262_144
// Runs in memory that may still end or become dormant at once; after this many milliseconds they count no more.
const MAX_UNSETTLED = 32
const SETTLES_WITHIN = 100
// So many deaths make a run a suspect: suspects are loaded one after another, so that a death has one cause. The next one follows when the
// one before has ended, made progress, begun to wait, or lived for so many milliseconds.
const SUSPECT_AFTER = 3
const ALONE_FOR = 10_000
// Milliseconds until loading is retried after a failure.
const RETRY_AFTER = 5_000

/** What a loader needs of the code that parks runs. */
interface LoaderHost {
  readonly engine: ResumeHost
  readonly parked: ParkedRuns
  runnableOf(run: ParkedRun): Awaitable<Runnable | undefined>
  /** The runnable of a run was removed before its turn. */
  awaitRunnable(run: ParkedRun): void
}

/** Loads parked runs into memory, a few at a time, as far as the engine's limits admit them. */
export class RunLoader {
  readonly #host: LoaderHost
  readonly #small = pLimit(LOADED_AT_ONCE)
  readonly #large = pLimit(1)
  readonly #alone = pLimit(1)
  readonly #loading = new Map<string, Promise<unknown>>()
  // Called when a loaded run has ended or is unloaded.
  readonly #settled = new Map<string, () => void>()
  readonly #unsettled = new Set<Promise<void>>()

  constructor(host: LoaderHost) {
    this.#host = host
  }

  /** Resolves when the loading of a run is done; undefined if it is not being loaded. */
  loading(runId: string): Promise<unknown> | undefined {
    return this.#loading.get(runId)
  }

  /** Resolves when the runs that are being loaded now are loaded. */
  async idle(): Promise<void> {
    await Promise.all(this.#loading.values())
  }

  /**
   * Parks a run until its turn; resolves with true if it was resumed. Few are loaded before they have settled.
   * @param size bytes of its checkpoint, if they are known
   */
  load(run: ParkedRun, size?: number, onSuspect: () => void = () => {}): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#host.parked.park(run)
    void this.#queueOf(run, size).then((queue) => {
      if (queue === this.#alone) onSuspect()
      return queue(() => this.#loadInTurn(run, resolve, queue === this.#alone))
    })
    return promise
  }

  /** The same for a run that a death left; a suspect, which may have to wait for others, counts as not resumed. */
  recover(run: ParkedRun, size: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    void this.load(run, size, () => resolve(false)).then(resolve)
    return promise
  }

  /** Resumes a run that this process has leased; true if it was resumed. It is loaded again later if that fails. */
  resume(runnable: Runnable, run: ParkedRun, leased?: number): Promise<boolean> {
    return this.once(run.runId, () => this.#tryResume(runnable, run, leased))
  }

  /**
   * Loads a run unless it is in memory, or on its way there: a run that a store failure has stopped may also be among those that a death of
   * this node has left, and one node may lease its own run twice.
   */
  async once(runId: string, load: () => Promise<boolean>): Promise<boolean> {
    if (this.#loading.has(runId) || this.#host.engine.live.has(runId)) return false
    const loading = load()
    const settled = loading.catch(() => {})
    this.#loading.set(runId, settled)
    try {
      return await loading
    } finally {
      this.#loading.delete(runId)
    }
  }

  /** A run has ended or is unloaded. */
  settled(runId: string): void {
    this.#settled.get(runId)?.()
  }

  async #queueOf({ runId, unloaded }: ParkedRun, size?: number): Promise<LimitFunction> {
    const { stores } = this.#host.engine
    try {
      if (unloaded === undefined && (await this.#isSuspect(runId))) return this.#alone
      return (size ?? (await stores.checkpoints.size(runId)) ?? 0) > LARGE ? this.#large : this.#small
    } catch {
      // Loading the run reports the error.
      return this.#large
    }
  }

  async #isSuspect(runId: string): Promise<boolean> {
    const { stores } = this.#host.engine
    const { epoch } = (await stores.runs.find(runId)) ?? { epoch: 0 }
    return epoch >= SUSPECT_AFTER && (await deathsOf(stores, runId, epoch + 1)) >= SUSPECT_AFTER
  }

  async #loadInTurn(run: ParkedRun, loaded: (isResumed: boolean) => void, isAlone: boolean): Promise<void> {
    const { runId } = run
    const { engine, parked } = this.#host
    while (this.#unsettled.size >= MAX_UNSETTLED) await Promise.race(this.#unsettled)
    for (let vacancy; (vacancy = engine.live.vacancy()) !== undefined;) await vacancy
    const found = this.#host.runnableOf(run)
    const runnable = isPromise(found) ? await found : found
    if (runnable === undefined && parked.get(runId)) this.#host.awaitRunnable(run)
    if (runnable === undefined || engine.closing.aborted || !parked.take(runId)) return loaded(false)
    const settled = new Promise<void>((settle) => this.#settled.set(runId, settle))
    const isResumed = await this.resume(runnable, run)
    loaded(isResumed)
    if (isResumed && !isAlone) return this.#awaitSettled(runId, settled)
    if (isResumed) await within(ALONE_FOR, settled)
    this.#settled.delete(runId)
  }

  #awaitSettled(runId: string, settled: Promise<void>): void {
    const settling = within(SETTLES_WITHIN, settled).then(() => {
      this.#settled.delete(runId)
      this.#unsettled.delete(settling)
    })
    this.#unsettled.add(settling)
  }

  async #tryResume(runnable: Runnable, run: ParkedRun, leased?: number): Promise<boolean> {
    const { engine, parked } = this.#host
    const { runId } = run
    try {
      return await resumeRun(engine, runnable, runId, { leased, unloaded: run.unloaded })
    } catch (err) {
      logFault(engine, err, runId, 'a run could not be resumed')
      if (isDamaged(err)) {
        await endLeftRun(engine.stores, runId, err).catch((fault: unknown) =>
          logFault(engine, fault, runId, 'a damaged run could not be ended')
        )
        return false
      }
      parked.park(run, { at: timeOf(engine.stores) + RETRY_AFTER, act: (again) => void this.load(again) })
      return false
    }
  }
}

/** Logs why a run could not be resumed or ended, unless the store's failure is in the log already. */
export function logFault(
  { log }: Pick<ResumeHost, 'log'>,
  err: unknown,
  runId: string,
  message: string
): void {
  if (!isReported(err)) log.error({ err: toLoggable(err), runId }, message)
}
