import { setMaxListeners } from 'node:events'
import { AnswerSeal } from './inputs/answer-seal.ts'
import { Surfaces } from '../access/surfaces.ts'
import {
  codeOf,
  defined,
  isTerminalStatus,
  SILENT_LOG,
  toLoggable,
  type Awaitable,
  type ControlMessage,
  type EventBus,
  type LeftTurn,
  type RunLog,
  type RunResult,
  type StoredRun,
  type Stores
} from '@svc/contract'
import { RUN_ERR_INTERRUPTED } from '@svc/contract/errors'
import { createEventBus } from '../events/event-bus.ts'
import { QueuedRuns, type QueueHost } from '../queue/queued-runs.ts'
import { ENGINE_DEFAULTS, type RecordOptions, type RunEngineOptions } from '../options.ts'
import { Schedules } from '../schedules/schedules.ts'
import { Sessions } from '../sessions/sessions.ts'
import { Webhooks } from '../webhooks/webhooks.ts'
import { createInProcessStores } from '../stores/in-process/in-process-stores.ts'
import { completeStores, guardStores } from '../stores/upkeep/guard-stores.ts'
import { isReported, StoreWatch, sweepRegularly } from '../stores/upkeep/store-watch.ts'
import { cancelElsewhere, cancelHere, obeyCancel, type CancelHost } from './cancel-run.ts'
import { heldBytesOf, type CountedRun, type DormantWait, type HostedRun } from './run-host.ts'
import { InputAnswers, type AnswerHost } from './inputs/input-answers.ts'
import type { LiveRun } from './live-run.ts'
import { LiveRuns, RunLimits } from './live-runs.ts'
import { resultFromLog } from './replayed-run.ts'
import { recordProgress, recordWork, type QueuedTurn, type ResumeHost } from '../recovery/resume-run.ts'
import { InterruptedRuns, type Found } from '../recovery/interrupted-runs.ts'
import { LostRuns } from '../recovery/left-runs.ts'
import { TakeOver, type TakeOverHost } from '../recovery/recovery.ts'
import { SessionNotices, TransientParts } from './log/log-reader.ts'
import type { StartOptions } from './start-options.ts'
import { obeySteer } from '../turns/join-run.ts'
import { takeQueuedTurn } from '../turns/before-turn.ts'
import { QueuePositions } from '../turns/run-turn.ts'

// Milliseconds without activity before a run is handed over.
const GRACE = 25

/** The engine as its runs see it: what they share, and what happens to them when they end, wait or lose their store. */
export class EngineHost implements QueueHost, AnswerHost, CancelHost, TakeOverHost {
  readonly stores: Stores
  readonly events: EventBus
  readonly log: RunLog
  readonly surfaces: Surfaces
  readonly maxLogBytes: number
  readonly durable: boolean
  readonly resumeWithServerKey: boolean
  readonly record: Readonly<Required<RecordOptions>>
  readonly transients = new TransientParts()
  readonly sessionNotices = new SessionNotices()
  readonly seal = new AnswerSeal()
  readonly live: LiveRuns
  readonly positions: QueuePositions
  readonly interrupted: InterruptedRuns
  readonly lostRuns: LostRuns
  readonly queued: QueuedRuns
  readonly schedules: Schedules
  readonly sessions: Sessions
  readonly webhooks: Webhooks
  /** Undefined if no other process shares the stores. */
  readonly takeOver: TakeOver | undefined
  readonly inputs = new InputAnswers(this)
  readonly #closed = new AbortController()
  readonly closed: AbortSignal = this.#closed.signal
  readonly #closing = new AbortController()
  readonly closing: AbortSignal = this.#closing.signal
  readonly #watch: StoreWatch
  deaths = 0
  // Resumed runs that have made progress.
  readonly #progressed = new WeakSet<HostedRun>()
  // Results that other nodes give.
  readonly #awaited = new Set<Promise<RunResult>>()
  readonly #stopSweeps: () => void
  readonly #unsubscribe: () => void
  readonly #stopLosing: (() => void) | undefined
  readonly #stopRemovals: (() => void) | undefined

  constructor(options: RunEngineOptions) {
    const { stores, authenticate, authorize, limits, resumeTimeout = ENGINE_DEFAULTS.resumeTimeout } = options
    this.log = options.log ?? SILENT_LOG
    this.durable = stores !== undefined
    this.resumeWithServerKey = options.resumeWithServerKey ?? false
    const catchUp = () => this.lostRuns.catchUp().then(() => this.inputs.catchUp())
    this.#watch = new StoreWatch(this.log, () => stores?.check?.(), catchUp)
    // In-process stores do not fail.
    this.stores = completeStores(
      stores ? guardStores(stores, this.#watch) : createInProcessStores(options.retention)
    )
    this.lostRuns = new LostRuns({
      stores: this.stores,
      resumeHere: (run) => this.interrupted.resumeHere(run)
    })
    // Every reader listens to it.
    setMaxListeners(0, this.closed)
    this.events = options.events ?? createEventBus(this.log)
    this.surfaces = new Surfaces({ authenticate, authorize, hosts: options.hosts })
    this.record = { input: true, files: false, ...defined(options.record ?? {}) }
    this.maxLogBytes = limits?.maxLogBytes ?? ENGINE_DEFAULTS.maxLogBytes
    this.live = new LiveRuns(new RunLimits(limits))
    this.positions = new QueuePositions(this.live, this.stores.sessions)
    this.interrupted = new InterruptedRuns(this, resumeTimeout)
    this.queued = new QueuedRuns(this, options.queue)
    const maxPerOwner = limits?.maxSchedulesPerOwner
    this.schedules = new Schedules(this, { maxPerOwner, patience: resumeTimeout })
    this.sessions = new Sessions(this)
    this.webhooks = new Webhooks(this, options.webhooks, limits)
    this.#stopSweeps = sweepRegularly(this.stores, this.log)
    const { lease } = this.stores
    this.takeOver = lease && new TakeOver(this, lease)
    this.#stopLosing = lease?.onLost(() => this.#leaseLost())
    this.#unsubscribe = this.stores.control.subscribe((message) => this.#obey(message))
    const { runs, files } = this.stores
    if (files !== undefined) this.#stopRemovals = runs.onRemove?.((runIds) => files.remove(runIds))
  }

  ended(run: HostedRun): void {
    if (run.resumable) this.interrupted.forget(run)
    this.live.leave(run)
    if (run.record.queuedAt !== null) this.queued.ended(run)
  }

  async resultElsewhere(runId: string): Promise<RunResult> {
    const result = resultFromLog(this, runId)
    this.#awaited.add(result)
    try {
      return await result
    } finally {
      this.#awaited.delete(result)
    }
  }

  progressed(run: HostedRun): void {
    if (!run.resumed || this.#progressed.has(run)) return
    this.#progressed.add(run)
    void this.left(run).then(() => this.interrupted.isSafe(run.runId))
  }

  begins(run: Pick<StoredRun, 'runId' | 'epoch'>): Awaitable<void> {
    return recordWork(this.stores, run)
  }

  // If the store fails, it counts as a death.
  left(run: HostedRun): Promise<void> {
    return this.#attempt(
      () => recordProgress(this.stores, run.record),
      'the progress of a run could not be recorded'
    )
  }

  dormant(run: HostedRun, wait: DormantWait): void {
    void this.interrupted.unload(run, wait)
  }

  mayUnload({ redact, authorize, surface }: StartOptions): boolean {
    // No one else knows the caller's key, or a policy of this one start.
    if (redact !== undefined) return false
    return authorize === undefined || (surface !== undefined && this.surfaces.policyOf(surface) !== undefined)
  }

  async cancelUnloaded(runId: string, left?: LeftTurn | null): Promise<boolean> {
    if (await cancelHere(this, runId, left)) return true
    const run = await this.stores.runs.find(runId)
    if (this.stores.lease === undefined || run === undefined || isTerminalStatus(run.status)) return false
    await cancelElsewhere(this, runId)
    return true
  }

  requireWait(run: CountedRun): void {
    // What has a checkpoint in another store leaves memory.
    if (!run.resumable || !this.durable) this.live.limits.requireHold(run.record.owner, heldBytesOf(run))
  }

  waits(run: CountedRun): void {
    run.heldBytes = heldBytesOf(run)
    this.live.waits(run)
    if (run.record.status === 'submitted') this.interrupted.isSafe(run.runId)
  }

  works(run: CountedRun): void {
    this.live.works(run)
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

  wake(runId: string, inputId: string): Promise<boolean> {
    return this.interrupted.wake(runId, inputId)
  }

  /** Admits no more runs and waits for those in progress. Call it once. */
  drain(timeout: number): Promise<void> {
    this.#closing.abort()
    void this.queued.stop()
    return this.live.drain(timeout, this.stores.lease && ((run) => this.#handOver(run)))
  }

  /** Suspends the runs that are left, or ends them as interrupted. */
  async close(): Promise<void> {
    this.#stopSweeps()
    this.#watch.close()
    this.#stopLosing?.()
    await this.takeOver?.idle()
    await this.schedules.idle()
    await this.interrupted.settle()
    const left = this.live.list()
    await Promise.all(
      left.map((run) => (run.resumable ? run.suspend() : run.interrupt(new RUN_ERR_INTERRUPTED())))
    )
    await this.queued.stop()
    await this.webhooks.close()
    await this.#attempt(() => this.stores.lease?.leave(), 'the lease could not be given up')
    await this.interrupted.close()
    this.#closed.abort()
    await Promise.allSettled(this.#awaited)
    this.#unsubscribe()
    this.#stopRemovals?.()
  }

  takeQueuedTurn(...[run, input]: Parameters<ResumeHost['takeQueuedTurn']>): Promise<QueuedTurn> {
    return takeQueuedTurn(this, run, input)
  }

  recover(): Promise<Found> {
    return this.interrupted.recover()
  }

  // A run that only another node can continue need not wait until this one has drained. What its last step triggers may be its end.
  #handOver(run: LiveRun): void {
    setTimeout(() => run.stopSteps(() => void this.#release(run)), GRACE).unref()
  }

  async #release(run: LiveRun): Promise<void> {
    if (run.ended) return
    await run.suspend()
    await this.#attempt(() => this.stores.lease?.release(run.runId), 'a run could not be handed over yet')
  }

  #leaseLost(): void {
    const runs = this.live.list()
    this.log.error({ runs: runs.length }, 'this node was taken for dead: other nodes take its runs')
    this.deaths++
    this.interrupted.abandon()
    for (const run of runs) run.leave()
  }

  async #attempt(act: () => Awaitable<void>, message: string): Promise<void> {
    try {
      await act()
    } catch (err) {
      if (!isReported(err) && codeOf(err) !== 'RUN_ERR_FENCED')
        this.log.error({ err: toLoggable(err) }, message)
    }
  }

  #obey(message: ControlMessage): void {
    // Failures are in the service's log already.
    if (message.type === 'cancel') obeyCancel(this, message.runId).catch(() => {})
    else if (message.type === 'steer') obeySteer(this, message.runId, message.steerId).catch(() => {})
    else if (message.type === 'input') this.inputs.deliver(message.inputId, message.answer).catch(() => {})
  }
}
