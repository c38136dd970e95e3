import { setMaxListeners } from 'node:events'
import { Exposures } from '../access/exposures.ts'
import type { EventBus } from '../contract/event-bus.ts'
import type { ControlMessage } from '../contract/ports/control-bus.ts'
import type { Stores } from '../contract/ports/stores.ts'
import { SILENT_LOG, type RunLog } from '../contract/run-log.ts'
import { RUN_ERR_INTERRUPTED } from '../errors.ts'
import { createEventBus } from '../events/create-event-bus.ts'
import { ENGINE_DEFAULTS, givenOf, type RecordOptions, type RunEngineOptions } from '../options.ts'
import { createInProcessStores } from '../stores/in-process/in-process-stores.ts'
import { guardStores } from '../stores/upkeep/guard-stores.ts'
import { StoreWatch } from '../stores/upkeep/store-watch.ts'
import { sweepRegularly } from '../stores/upkeep/sweep-stores.ts'
import { InputAnswers, type AnswerHost } from './inputs/input-answers.ts'
import type { LiveRun } from './live-run.ts'
import { LiveRuns } from './live-runs.ts'
import { InterruptedRuns, type ResumeHost } from './recovery/interrupted-runs.ts'
import { LostRuns } from './recovery/lost-runs.ts'
import { TransientParts } from './log/transient-parts.ts'
import type { HostedRun } from './run-host.ts'
import { RunLimits } from './run-limits.ts'

/** The engine as its runs see it: what they share, and what happens to them when they end, wait or lose their store. */
export class EngineHost implements ResumeHost, AnswerHost {
  readonly stores: Stores
  readonly events: EventBus
  readonly log: RunLog
  readonly exposures: Exposures
  readonly maxLogBytes: number
  readonly durable: boolean
  readonly resumeWithServerKey: boolean
  readonly record: Readonly<Required<RecordOptions>>
  readonly transients = new TransientParts()
  readonly live: LiveRuns
  readonly interrupted: InterruptedRuns
  readonly lostRuns: LostRuns
  readonly inputs = new InputAnswers(this)
  readonly #closed = new AbortController()
  readonly closed: AbortSignal = this.#closed.signal
  readonly #closing = new AbortController()
  readonly closing: AbortSignal = this.#closing.signal
  readonly #watch: StoreWatch
  readonly #stopSweeps: () => void
  readonly #unsubscribe: () => void
  readonly #stopRemovals: (() => void) | undefined

  constructor(options: RunEngineOptions) {
    const { stores, authenticate, authorize, limits, resumeTimeout = ENGINE_DEFAULTS.resumeTimeout } = options
    this.log = options.log ?? SILENT_LOG
    this.durable = stores !== undefined
    this.resumeWithServerKey = options.resumeWithServerKey ?? false
    const catchUp = () => this.lostRuns.catchUp().then(() => this.inputs.catchUp())
    this.#watch = new StoreWatch(this.log, () => stores?.check?.(), catchUp)
    // In-process stores do not fail.
    this.stores = stores ? guardStores(stores, this.#watch) : createInProcessStores(options.retention)
    this.lostRuns = new LostRuns({
      stores: this.stores,
      resumeHere: (run) => this.interrupted.resumeHere(run)
    })
    // Every reader listens to it.
    setMaxListeners(0, this.closed)
    this.events = options.events ?? createEventBus(this.log)
    this.exposures = new Exposures({ authenticate, authorize })
    this.record = { input: true, files: false, ...givenOf(options.record ?? {}) }
    this.maxLogBytes = limits?.maxLogBytes ?? ENGINE_DEFAULTS.maxLogBytes
    this.live = new LiveRuns(new RunLimits(limits))
    this.interrupted = new InterruptedRuns(this, resumeTimeout)
    this.#stopSweeps = sweepRegularly(this.stores, this.log)
    this.#unsubscribe = this.stores.control.subscribe((message) => this.#obey(message))
    const { runs, files } = this.stores
    if (files !== undefined) this.#stopRemovals = runs.onRemove?.((runIds) => files.remove(runIds))
  }

  ended(run: HostedRun): void {
    this.interrupted.forget(run)
    this.live.leave(run)
  }

  dormant(run: HostedRun, until: number): void {
    void this.interrupted.unload(run, until)
  }

  lost(run: HostedRun, reason: unknown): void {
    this.lostRuns.add(run, reason)
  }

  faultOf(runId: string): Error | undefined {
    return this.lostRuns.faultOf(runId)
  }

  expireInput(inputId: string): void {
    void this.inputs.expire(inputId)
  }

  answerable(runId: string): LiveRun | undefined {
    const run = this.live.get(runId)
    return run?.suspended ? undefined : run
  }

  wake(runId: string): Promise<boolean> {
    return this.interrupted.wake(runId)
  }

  /** Admits no more runs and waits for those in progress. Call it once. */
  drain(timeout: number): Promise<void> {
    this.#closing.abort()
    return this.live.drain(timeout)
  }

  /** Suspends the runs that are left, or ends them as interrupted. */
  async close(): Promise<void> {
    this.#stopSweeps()
    this.#watch.close()
    const left = this.live.list()
    await Promise.all(
      left.map((run) => (run.resumable ? run.suspend() : run.interrupt(new RUN_ERR_INTERRUPTED())))
    )
    await this.interrupted.close()
    this.#closed.abort()
    this.#unsubscribe()
    this.#stopRemovals?.()
  }

  #obey(message: ControlMessage): void {
    // Failures are in the service's log already.
    if (message.type === 'cancel')
      (this.live.get(message.runId) ?? this.interrupted).cancel(message.runId).catch(() => {})
    else if (message.type === 'input') this.inputs.deliver(message.inputId, message.answer).catch(() => {})
  }
}
