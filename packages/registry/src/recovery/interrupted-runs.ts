import {
  andThen,
  isPromise,
  isTerminalStatus,
  runnableKeyText,
  timeOf,
  within,
  type Awaitable,
  type LeftRun,
  type NextRun,
  type Runnable,
  type RunnableKey
} from '@svc/contract'
import type { CheckpointInput } from '../engine/run-record.ts'
import type { DormantWait, HostedRun } from '../engine/run-host.ts'
import { OwnerCounts } from '../engine/live-runs.ts'
import { endLeftRun, isDamaged, leftRuns } from './left-runs.ts'
import { logFault, ParkedRuns, RunLoader, type ParkedRun } from './run-loader.ts'
import { resumeRun, toResumeState, type ResumeHost } from './resume-run.ts'

// Milliseconds that an answer waits for its run to be loaded.
const ANSWERS_WITHIN = 5_000
// Milliseconds until ending a run is retried after a failure.
const RETRY_AFTER = 5_000

/** The first checkpoint of a run. */
export interface Checkpoint {
  readonly saved: Awaitable<void>
}

/** What recovery has found. */
export interface Found {
  /** The number of runs that ended. */
  readonly ended: number
  /** Each resolves with true if it has resumed a run. */
  readonly loads: readonly Promise<boolean>[]
}

/** Checkpoints resumable runs, resumes them after a restart, and unloads those that are dormant. */
export class InterruptedRuns {
  readonly #host: ResumeHost
  readonly #timeout: number
  readonly #parked: ParkedRuns
  readonly #loader: RunLoader
  readonly #runnables = new Map<string, { runnable: Runnable; key: RunnableKey }>()
  readonly #unloading = new Map<string, Promise<unknown>>()
  readonly #forgetting = new Set<Promise<void>>()

  constructor(host: ResumeHost, timeout: number) {
    this.#host = host
    this.#timeout = timeout
    // Shared stores count the runs of an owner themselves; other nodes may have those that are parked here.
    const { stores, live } = host
    this.#parked = new ParkedRuns(stores.lease ? new OwnerCounts() : live.owners, live, stores)
    this.#loader = new RunLoader({
      engine: host,
      parked: this.#parked,
      runnableOf: (run) => this.#runnableOf(run),
      awaitRunnable: (run) => this.#awaitRunnable(run)
    })
  }

  /** Saves the checkpoint from which another process can resume a new run. */
  keep({ runId, record, options }: HostedRun, input: CheckpointInput): Checkpoint {
    const state = toResumeState(input, options, this.#host.surfaces)
    const saved = this.#host.stores.checkpoints.save(runId, record.epoch, state)
    // Its caller gets the error, unless the run could not be created.
    if (isPromise(saved)) saved.catch(() => {})
    return { saved }
  }

  /** Removes the checkpoint of a resumable run that has ended. */
  forget({ runId, suspended }: HostedRun): void {
    this.#loader.settled(runId)
    if (suspended) return
    const removed = this.#host.stores.checkpoints.remove(runId)
    if (!isPromise(removed)) return
    const forgotten = this.#attempt(removed, runId, 'the checkpoint of a run could not be removed')
    this.#forgetting.add(forgotten)
    void forgotten.then(() => this.#forgetting.delete(forgotten))
  }

  /** A loaded run has made progress, or waits for its turn: others may be loaded beside it. */
  isSafe(runId: string): void {
    this.#loader.settled(runId)
  }

  /** Ends or parks every run that no living process has, and begins to load those whose runnable is known. */
  async recover(): Promise<Found> {
    let ended = 0
    const loads: Promise<boolean>[] = []
    for await (const run of leftRuns(this.#host.stores)) {
      if (this.#host.closing.aborted) break
      const found = await this.#recoverRun(run)
      if (found === 'ended') ended++
      else if (found !== undefined) loads.push(found.load)
    }
    return { ended, loads }
  }

  /** Recovers one run ahead of its turn. */
  async recoverOne(runId: string): Promise<void> {
    const run = await this.#host.stores.runs.find(runId)
    // A waiting run needs no recovery.
    if (run !== undefined && run.epoch > 0 && !isTerminalStatus(run.status)) await this.#recoverRun(run)
  }

  /** Resumes the runs that wait for a runnable; returns how many. */
  async resume(runnable: Runnable, registry: string): Promise<number> {
    if (runnable.resumable !== true) return 0
    const key = this.know(runnable, registry)
    const loads = this.#parked.awaiting(key).map((run) => this.#loader.load(run))
    return (await Promise.all(loads)).filter(Boolean).length
  }

  /** Makes a resumable runnable known; returns its key. */
  know(runnable: Runnable, registry: string): RunnableKey {
    const { kind, name } = runnable
    const key = { registry, kind, name }
    this.#runnables.set(runnableKeyText(key), { runnable, key })
    return key
  }

  /** True if the runnable with this key is known. */
  knows(key: RunnableKey): boolean {
    return this.#runnables.has(runnableKeyText(key))
  }

  /** Looks up a resumable runnable: one that is known, without a promise, else one that a surface exposes. */
  find(key: RunnableKey): Awaitable<Runnable | undefined> {
    const known = this.#runnables.get(runnableKeyText(key))?.runnable
    const found = known ?? this.#host.surfaces.find(key)
    return andThen(found, resumableOnly)
  }

  /** The keys of the runnables that are known. */
  get known(): RunnableKey[] {
    return Array.from(this.#runnables.values(), ({ key }) => key)
  }

  /** Begins a run from the queue, which this process has leased; true if it is in progress. */
  async begin(next: NextRun): Promise<boolean> {
    const runnable = await this.find(next)
    if (runnable !== undefined) return await this.#loader.resume(runnable, next, next.epoch)
    this.#awaitRunnable(next)
    return false
  }

  /** Forgets a removed runnable; its runs wait for the next one of its name. */
  release(runnable: Runnable, registry: string): void {
    const { kind, name } = runnable
    const key = runnableKeyText({ registry, kind, name })
    if (this.#runnables.get(key)?.runnable === runnable) this.#runnables.delete(key)
  }

  /** Unloads a dormant run until an answer or this time wakes it. */
  async unload(run: HostedRun, { until, inputIds }: DormantWait): Promise<void> {
    const { runId, record, runnable, options, heldBytes } = run
    if (this.#host.closing.aborted) return
    const unloaded = run.unload()
    this.#unloading.set(runId, unloaded)
    await unloaded
    this.#unloading.delete(runId)
    if (this.#host.closing.aborted || !run.suspended) return
    const { onInputRequest } = options
    // What is stored elsewhere takes no memory.
    const kept = {
      heldBytes: this.#host.durable ? 0 : heldBytes,
      runnable: this.knows(record) ? undefined : runnable,
      onInputRequest
    }
    const due = { at: until, act: () => void this.wake(runId), inputIds }
    this.#parked.park({ ...record, unloaded: kept }, due)
  }

  /**
   * Loads a dormant run; resolves once it is loaded, with false if it is not one of this process.
   * @param inputId the input that was answered, if it is one: stores may report an answer more than once
   */
  async wake(runId: string, inputId?: string): Promise<boolean> {
    // Loading reads the answers last.
    if (this.#loader.loading(runId)) return true
    await this.#unloading.get(runId)
    const run = this.#parked.get(runId)
    if (run === undefined) return this.#host.live.has(runId)
    const { lease } = this.#host.stores
    if (inputId !== undefined && !this.#parked.awaitsInput(runId, inputId)) return lease === undefined
    const runnable = this.#runnableOf(run)
    if ((isPromise(runnable) ? await runnable : runnable) !== undefined)
      await within(ANSWERS_WITHIN, this.#loader.load(run))
    else if (!this.#parked.awaitsRunnable(runId)) this.#awaitRunnable(run)
    if (lease === undefined || this.#host.live.has(runId)) return true
    // Another node may have a run that is parked here, and has to when this one closes.
    if (this.#host.closing.aborted && this.#parked.take(runId)) await lease.release(runId)
    return false
  }

  /** Resolves when the loading or unloading of a run is done; undefined if neither is in progress. */
  moved(runId: string): Promise<unknown> | undefined {
    return this.#loader.loading(runId) ?? this.#unloading.get(runId)
  }

  /** Ends a run that is not in memory; false if it is, or if another node has it. */
  async cancel(runId: string): Promise<boolean> {
    if (this.#parked.get(runId) === undefined) return false
    const isCanceled = await endLeftRun(this.#host.stores, runId, 'canceled')
    this.#parked.take(runId)
    return isCanceled
  }

  /** Resumes a run of this process whose log could not be written. @throws what the store throws */
  async resumeHere(run: HostedRun): Promise<void> {
    for (let vacancy; (vacancy = this.#host.live.vacancy()) !== undefined;) await vacancy
    const { runnable, runId } = run
    if (this.#host.closing.aborted || this.#parked.get(runId) !== undefined) return
    try {
      await this.#loader.once(runId, () => resumeRun(this.#host, runnable, runId, { own: run }))
    } catch (err) {
      if (!isDamaged(err)) throw err
      await endLeftRun(this.#host.stores, run.runId, err)
    }
  }

  /** Forgets the runs that are not in memory: other nodes take them. */
  abandon(): void {
    this.#parked.clear()
  }

  /** Loads no more runs, and resolves when none is on its way into memory or out of it. */
  async settle(): Promise<void> {
    this.#parked.clear()
    await Promise.all([this.#loader.idle(), ...this.#unloading.values()])
  }

  /** Resolves when the checkpoints of ended runs are removed. */
  async close(): Promise<void> {
    this.#parked.clear()
    await Promise.all(this.#forgetting)
  }

  // Parks or loads a resumable run; ends any other, since it died with its process.
  async #recoverRun(run: LeftRun): Promise<'ended' | { load: Promise<boolean> } | undefined> {
    const { runId, cancelRequested } = run
    const { stores } = this.#host
    if (this.#host.live.has(runId) || this.moved(runId) || this.#parked.get(runId)) return undefined
    const size = cancelRequested ? null : (run.checkpointBytes ?? (await this.#sizeOf(run)))
    if (size === null) {
      const isEnded = await endLeftRun(stores, runId, cancelRequested ? 'canceled' : undefined)
      return isEnded ? 'ended' : undefined
    }
    const runnable = this.find(run)
    if ((isPromise(runnable) ? await runnable : runnable) !== undefined)
      return { load: this.#loader.recover(run, size) }
    this.#awaitRunnable(run)
    return undefined
  }

  #runnableOf(run: ParkedRun): Awaitable<Runnable | undefined> {
    const found = this.find(run)
    const orUnloaded = (runnable: Runnable | undefined) => runnable ?? run.unloaded?.runnable
    return andThen(found, orUnloaded)
  }

  // Null if it has no checkpoint.
  async #sizeOf({ runId, checkpointBytes }: LeftRun): Promise<number | null> {
    return checkpointBytes === null ? null : ((await this.#host.stores.checkpoints.size(runId)) ?? null)
  }

  #awaitRunnable(run: ParkedRun): void {
    const end = async ({ runId }: ParkedRun) => {
      await endLeftRun(this.#host.stores, runId)
      this.#parked.take(runId)
    }
    const park = (at: number) =>
      this.#parked.park(run, {
        at,
        act: (parked) => {
          park(timeOf(this.#host.stores) + RETRY_AFTER)
          void this.#attempt(
            end(parked),
            run.runId,
            'a run whose runnable was not registered in time could not be ended'
          )
        },
        awaitsRunnable: true
      })
    park(timeOf(this.#host.stores) + this.#timeout)
  }

  async #attempt(work: Promise<unknown>, runId: string, message: string): Promise<void> {
    try {
      await work
    } catch (err) {
      logFault(this.#host, err, runId, message)
    }
  }
}

function resumableOnly(runnable: Runnable | undefined): Runnable | undefined {
  return runnable?.resumable === true ? runnable : undefined
}
