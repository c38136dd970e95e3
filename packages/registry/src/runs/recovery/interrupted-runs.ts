import pLimit, { type LimitFunction } from 'p-limit'
import { isTerminalStatus } from '../../contract/run-record.ts'
import type { RunLog } from '../../contract/run-log.ts'
import type { Runnable } from '../../contract/runnable.ts'
import { isPromise, type Awaitable } from '../../contract/ports/awaitable.ts'
import { runnableKeyText } from '../../contract/ports/run-scope.ts'
import { RUN_ERR_KEY_GONE, RUN_ERR_POISONED } from '../../errors.ts'
import { LiveRun } from '../live-run.ts'
import { restoreInput, type KeptInput } from '../kept-input.ts'
import { toRecordedInput } from '../recorded-input.ts'
import type { LiveRuns } from '../live-runs.ts'
import { ParkedRuns, type ParkedRun } from './parked-runs.ts'
import { survivesDeath } from './deaths.ts'
import { endLeftRun, isDamaged, recallProgress, unfinishedRuns } from './left-runs.ts'
import { isResumable, readResumeState, toResumeState, toStartOptions } from './resume-state.ts'
import type { HostedRun, RunHost } from '../run-host.ts'
import { within } from '../../timers.ts'
import { toLoggable } from '../../logging/to-loggable.ts'
import type { StartOptions } from '../start-options.ts'
import { isReported } from '../../stores/upkeep/store-watch.ts'

// Runs loaded at once; of those with a large checkpoint (in bytes), one.
const LOADED_AT_ONCE = 8
const LARGE = 262_144
// Milliseconds that a loaded run has to end or become dormant before the next one is loaded anyway.
const SETTLES_WITHIN = 100
// Milliseconds that an answer waits for its run to be loaded.
const ANSWERS_WITHIN = 5_000
// Milliseconds until loading is retried after a failure.
const RETRY_AFTER = 5_000

/** The parts of the engine that resuming runs needs. */
export interface ResumeHost extends RunHost {
  readonly log: RunLog
  /** Aborts when the engine begins to close. */
  readonly closing: AbortSignal
  readonly live: LiveRuns
  /** False if nothing outlasts the process. */
  readonly durable: boolean
  /** As in `RunEngineOptions`. */
  readonly resumeWithServerKey: boolean
}

/** The first checkpoint of a run. */
export interface Checkpoint {
  readonly saved: Awaitable<void>
}

/** Checkpoints resumable runs, resumes them after a restart, and unloads those that are dormant. */
export class InterruptedRuns {
  readonly #host: ResumeHost
  readonly #timeout: number
  readonly #parked: ParkedRuns
  readonly #runnables = new Map<string, Runnable>()
  readonly #small = pLimit(LOADED_AT_ONCE)
  readonly #large = pLimit(1)
  // Runs that are being loaded or unloaded.
  readonly #loading = new Map<string, Promise<unknown>>()
  readonly #unloading = new Map<string, Promise<unknown>>()
  // Called when a loaded run has ended or is unloaded.
  readonly #settled = new Map<string, () => void>()
  readonly #forgetting = new Set<Promise<void>>()

  constructor(host: ResumeHost, timeout: number) {
    this.#host = host
    this.#timeout = timeout
    this.#parked = new ParkedRuns(host.live.limits.owners)
  }

  /** Saves the checkpoint from which another process can resume a new run; undefined if none can. */
  keep({ runId, record, runnable, options }: HostedRun, kept: KeptInput): Checkpoint | undefined {
    if (!isResumable(runnable, options, this.#host.durable)) return undefined
    const state = toResumeState(kept, options, this.#host.exposures)
    return { saved: this.#host.stores.checkpoints.save(runId, record.epoch, state) }
  }

  /** Removes the checkpoint of a run that has ended. */
  forget({ runId, resumable, suspended }: HostedRun): void {
    if (!resumable) return
    this.#settled.get(runId)?.()
    if (suspended) return
    const removed = this.#host.stores.checkpoints.remove(runId)
    if (!isPromise(removed)) return
    const forgotten = this.#logFault(removed, runId, 'the checkpoint of a run could not be removed')
    this.#forgetting.add(forgotten)
    void forgotten.then(() => this.#forgetting.delete(forgotten))
  }

  /** Ends or parks every run that a crash left, and loads those whose runnable is known; returns how many ended. */
  async recover(): Promise<number> {
    let ended = 0
    const loads: Promise<unknown>[] = []
    for await (const run of unfinishedRuns(this.#host.stores)) {
      if (this.#host.closing.aborted) break
      const found = await this.#recoverRun(run)
      if (found === 'ended') ended++
      else if (found !== undefined) loads.push(found.load)
    }
    await Promise.all(loads)
    return ended
  }

  /** Recovers one run ahead of its turn. */
  async recoverOne(runId: string): Promise<void> {
    const run = await this.#host.stores.runs.find(runId)
    if (run !== undefined && !isTerminalStatus(run.status)) await this.#recoverRun(run)
  }

  /** Resumes the runs that wait for a runnable; returns how many. */
  async resume(runnable: Runnable, registry: string): Promise<number> {
    if (runnable.resumable !== true) return 0
    const { kind, name } = runnable
    const key = { registry, kind, name }
    this.#runnables.set(runnableKeyText(key), runnable)
    const loads = this.#parked.awaiting(key).map((run) => this.#load(run))
    return (await Promise.all(loads)).filter(Boolean).length
  }

  /** Forgets a removed runnable; its runs wait for the next one of its name. */
  release(runnable: Runnable, registry: string): void {
    const { kind, name } = runnable
    const key = runnableKeyText({ registry, kind, name })
    if (this.#runnables.get(key) === runnable) this.#runnables.delete(key)
  }

  /** Unloads a dormant run until an answer or this time wakes it. */
  async unload(run: HostedRun, until: number): Promise<void> {
    const { runId, record } = run
    if (this.#host.closing.aborted) return
    const unloaded = run.suspend()
    this.#unloading.set(runId, unloaded)
    await unloaded
    this.#unloading.delete(runId)
    if (this.#host.closing.aborted || !run.suspended) return
    this.#parked.park(record, { at: until, act: () => void this.wake(runId) })
  }

  /** Loads a dormant run; resolves once it is loaded, with false if it is not one of this process. */
  async wake(runId: string): Promise<boolean> {
    // Loading reads the answers last.
    if (this.#loading.has(runId)) return true
    await this.#unloading.get(runId)
    const run = this.#parked.get(runId)
    if (run === undefined) return this.#host.live.has(runId)
    if (this.#runnables.has(runnableKeyText(run))) await within(ANSWERS_WITHIN, this.#load(run))
    else if (!this.#parked.awaitsRunnable(runId)) this.#awaitRunnable(run)
    return true
  }

  /** Resolves when the loading or unloading of a run is done; undefined if neither is in progress. */
  moved(runId: string): Promise<unknown> | undefined {
    return this.#loading.get(runId) ?? this.#unloading.get(runId)
  }

  /** Ends a run that is not in memory; false if it is. */
  async cancel(runId: string): Promise<boolean> {
    if (this.#parked.get(runId) === undefined) return false
    const isCanceled = await endLeftRun(this.#host.stores, runId, 'canceled')
    this.#parked.take(runId)
    return isCanceled
  }

  /** Resumes a run of this process whose log could not be written. @throws what the store throws */
  async resumeHere({ runId, runnable, options, losses }: HostedRun): Promise<void> {
    for (let vacancy; (vacancy = this.#host.live.limits.vacancy()) !== undefined;) await vacancy
    if (this.#host.closing.aborted) return
    try {
      await this.#resumeRun(runnable, runId, options, losses)
    } catch (err) {
      if (!isDamaged(err)) throw err
      await endLeftRun(this.#host.stores, runId, err)
    }
  }

  async close(): Promise<void> {
    this.#parked.close()
    await Promise.all([...this.#loading.values(), ...this.#unloading.values()])
    await Promise.all(this.#forgetting)
  }

  // Parks or loads a resumable run; ends any other, since it died with its process.
  async #recoverRun(run: ParkedRun): Promise<'ended' | { load: Promise<unknown> } | undefined> {
    const { runId } = run
    const { stores } = this.#host
    if (this.#host.live.has(runId) || this.moved(runId) || this.#parked.get(runId)) return undefined
    if ((await stores.checkpoints.size(runId)) === undefined)
      return (await endLeftRun(stores, runId)) ? 'ended' : undefined
    if (this.#runnables.has(runnableKeyText(run))) return { load: this.#load(run) }
    this.#awaitRunnable(run)
    return undefined
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
          park(Date.now() + RETRY_AFTER)
          const ended = end(parked)
          void this.#logFault(
            ended,
            run.runId,
            'a run whose runnable was not registered in time could not be ended'
          )
        },
        awaitsRunnable: true
      })
    park(Date.now() + this.#timeout)
  }

  // Resolves with true if the run was resumed; the next one is loaded once this one has settled.
  #load(run: ParkedRun): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#parked.park(run)
    void this.#queueOf(run).then((queue) => queue(() => this.#loadInTurn(run, resolve)))
    return promise
  }

  async #queueOf({ runId }: ParkedRun): Promise<LimitFunction> {
    try {
      return ((await this.#host.stores.checkpoints.size(runId)) ?? 0) > LARGE ? this.#large : this.#small
    } catch {
      // Loading the run reports the error.
      return this.#large
    }
  }

  async #loadInTurn(run: ParkedRun, loaded: (isResumed: boolean) => void): Promise<void> {
    const { runId } = run
    for (let vacancy; (vacancy = this.#host.live.limits.vacancy()) !== undefined;) await vacancy
    const runnable = this.#runnables.get(runnableKeyText(run))
    if (runnable === undefined && this.#parked.get(runId)) this.#awaitRunnable(run)
    if (runnable === undefined || this.#host.closing.aborted || !this.#parked.take(runId))
      return loaded(false)
    const settled = new Promise<void>((settle) => this.#settled.set(runId, settle))
    const loading = this.#tryResume(runnable, run)
    this.#loading.set(runId, loading)
    const isResumed = await loading
    this.#loading.delete(runId)
    loaded(isResumed)
    if (isResumed) await within(SETTLES_WITHIN, settled)
    this.#settled.delete(runId)
  }

  async #tryResume(runnable: Runnable, run: ParkedRun): Promise<boolean> {
    try {
      return await this.#resumeRun(runnable, run.runId)
    } catch (err) {
      const { runId } = run
      if (!isReported(err))
        this.#host.log.error({ err: toLoggable(err), runId }, 'a run could not be resumed')
      if (isDamaged(err)) {
        const ended = endLeftRun(this.#host.stores, runId, err)
        await this.#logFault(ended, runId, 'a damaged run could not be ended')
        return false
      }
      this.#parked.park(run, { at: Date.now() + RETRY_AFTER, act: () => void this.wake(runId) })
      return false
    }
  }

  // `own` are its original options, in the process that started it.
  async #resumeRun(runnable: Runnable, runId: string, own?: StartOptions, losses?: number): Promise<boolean> {
    const { stores, maxLogBytes, exposures } = this.#host
    const state = await readResumeState(stores, runId)
    const end = (how?: Error) => endLeftRun(stores, runId, how).then(() => false)
    if (state === undefined) return end()
    if (own === undefined && state.keyed && !this.#host.resumeWithServerKey)
      return end(new RUN_ERR_KEY_GONE())
    const input = await restoreInput(stores, runId, { input: state.input, files: state.files ?? [] })
    const epoch = await stores.runs.lease(runId)
    const stored = epoch === undefined ? undefined : await stores.runs.get(runId)
    if (epoch === undefined || stored === undefined) return false
    const record = { ...stored, epoch }
    const recalled = await recallProgress(stores, runId, maxLogBytes, Date.now() - record.createdAt)
    if (own === undefined && !(await survivesDeath(stores, record, state, recalled.log)))
      return end(new RUN_ERR_POISONED())
    const options = own ?? toStartOptions(record, state, exposures)
    const run = new LiveRun(this.#host, runnable, options, { record, ...recalled, losses })
    this.#host.live.enter(run)
    run.begin(input, true, run.writer.begun ? undefined : toRecordedInput(state.input).value)
    // Answers since the record was read found no run to deliver to.
    for (const { inputId, answer } of (await stores.runs.get(runId))?.inputs ?? [])
      if (answer !== null) await run.inputAnswered(inputId, answer)
    return true
  }

  async #logFault(work: Promise<unknown>, runId: string, message: string): Promise<void> {
    try {
      await work
    } catch (err) {
      if (!isReported(err)) this.#host.log.error({ err: toLoggable(err), runId }, message)
    }
  }
}
