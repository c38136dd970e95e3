import { setMaxListeners } from 'node:events'
import {
  codeOf,
  defined,
  isTerminalStatus,
  SILENT_LOG,
  toLoggable,
  type ApprovalAnswer,
  type Awaitable,
  type ControlMessage,
  type EventBus,
  type InputAnswer,
  type LeftTurn,
  type MiddlewareAround,
  type RunInput,
  type RunLog,
  type RunMiddleware,
  type Runnable,
  type RunResult,
  type RunSummary,
  type StoredRun,
  type Stores
} from '@svc/contract'
import {
  RUN_ERR_DRAINING,
  RUN_ERR_INTERRUPTED,
  RUN_ERR_NOT_FOUND,
  RUN_ERR_TERMINAL
} from '@svc/contract/errors'
import { runIdOf } from '@svc/contract/stores'
import { sharedOptionsOf } from '../access/shared-options.ts'
import { Surfaces } from '../access/surfaces.ts'
import { requireNode } from '../app/app-scope.ts'
import { createEventBus } from '../events/event-bus.ts'
import {
  ENGINE_DEFAULTS,
  requireEngineOptions,
  type RecordOptions,
  type RunEngineOptions
} from '../options.ts'
import { QueuedRuns } from '../queue/queued-runs.ts'
import { InterruptedRuns } from '../recovery/interrupted-runs.ts'
import { LostRuns } from '../recovery/left-runs.ts'
import { Recovery, TakeOver } from '../recovery/recovery.ts'
import { recordProgress, recordWork, type QueuedTurn, type ResumeHost } from '../recovery/resume-run.ts'
import { Schedules } from '../schedules/schedules.ts'
import { Sessions } from '../sessions/sessions.ts'
import { createInProcessStores } from '../stores/in-process/in-process-stores.ts'
import { completeStores, guardStores } from '../stores/upkeep/guard-stores.ts'
import { isReported, StoreWatch, sweepRegularly } from '../stores/upkeep/store-watch.ts'
import { steerByRequest, takeQueuedTurn } from '../turns/before-turn.ts'
import { obeySteer } from '../turns/join-run.ts'
import { QueuePositions } from '../turns/run-turn.ts'
import { Webhooks } from '../webhooks/webhooks.ts'
import { cancelElsewhere, cancelHere, obeyCancel } from './cancel-run.ts'
import type { EngineHost } from './engine-host.ts'
import { AnswerSeal } from './inputs/answer-seal.ts'
import { InputAnswers } from './inputs/input-answers.ts'
import type { LiveRun } from './live-run.ts'
import { LiveRuns } from './live-runs.ts'
import { HeldTexts } from './log/held-text.ts'
import { readParts, SessionNotices, TransientParts, type TransientPart } from './log/log-reader.ts'
import { resultFromLog } from './replayed-run.ts'
import type { Run, RunEngine, StartRefusal } from './run-engine.ts'
import { heldBytesOf, type CountedRun, type DormantWait, type HostedRun } from './run-host.ts'
import type { StartOptions } from './start-options.ts'
import { startRun } from './start-run.ts'

// Milliseconds without activity before a run is handed over.
const GRACE = 25

/** Makes an engine. @throws REG_ERR_BAD_OPTION, REG_ERR_OLD_NODE */
export function createRunEngine(options: RunEngineOptions = {}): RunEngine {
  requireNode()
  requireEngineOptions(options)
  return publicOf(new Engine(options))
}

// At run time, too, an app sees the public interface only.
function publicOf(engine: Engine): RunEngine {
  const { stores, events, surfaces, schedules, sessions, webhooks, record, closed } = engine
  return {
    stores,
    events,
    surfaces,
    schedules,
    sessions,
    webhooks,
    record,
    closed,
    get active() {
      return engine.active
    },
    get draining() {
      return engine.draining
    },
    get recovering() {
      return engine.recovering
    },
    start: engine.start.bind(engine),
    refusal: engine.refusal.bind(engine),
    get: engine.get.bind(engine),
    find: engine.find.bind(engine),
    list: engine.list.bind(engine),
    faultOf: engine.faultOf.bind(engine),
    parts: engine.parts.bind(engine),
    followTransients: engine.followTransients.bind(engine),
    cancel: engine.cancel.bind(engine),
    steer: engine.steer.bind(engine),
    listInputs: engine.listInputs.bind(engine),
    findInput: engine.findInput.bind(engine),
    answer: engine.answer.bind(engine),
    recover: engine.recover.bind(engine),
    resume: engine.resume.bind(engine),
    release: engine.release.bind(engine),
    use: engine.use.bind(engine),
    drain: engine.drain.bind(engine),
    close: engine.close.bind(engine)
  }
}

class Engine implements EngineHost {
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
  readonly texts = new HeldTexts()
  around: MiddlewareAround | undefined
  readonly live: LiveRuns
  readonly interrupted: InterruptedRuns
  readonly lostRuns: LostRuns
  readonly queued: QueuedRuns
  readonly schedules: Schedules
  readonly sessions: Sessions
  readonly webhooks: Webhooks
  readonly inputs = new InputAnswers(this)
  // Undefined if no other process shares the stores.
  readonly #takeOver: TakeOver | undefined
  readonly #positions: QueuePositions
  readonly #recovery = new Recovery(() => this.#recover())
  readonly #drainTimeout: number
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
  #drained: Promise<void> | undefined
  #closes: Promise<void> | undefined
  #isOver = false

  constructor(options: RunEngineOptions) {
    const { stores, authenticate, authorize, limits, resumeTimeout = ENGINE_DEFAULTS.resumeTimeout } = options
    this.log = options.log ?? SILENT_LOG
    this.#drainTimeout = options.drainTimeout ?? ENGINE_DEFAULTS.drainTimeout
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
    this.surfaces = new Surfaces({ authenticate, authorize, hosts: options.hosts }, sharedOptionsOf(options))
    this.record = { input: true, files: false, ...defined(options.record ?? {}) }
    this.maxLogBytes = limits?.maxLogBytes ?? ENGINE_DEFAULTS.maxLogBytes
    this.live = new LiveRuns(limits)
    this.#positions = new QueuePositions(this.live, this.stores.sessions)
    this.interrupted = new InterruptedRuns(this, resumeTimeout)
    this.queued = new QueuedRuns(this, options.queue)
    const maxPerOwner = limits?.maxSchedulesPerOwner
    this.schedules = new Schedules(this, { maxPerOwner, patience: resumeTimeout })
    this.sessions = new Sessions(this)
    this.webhooks = new Webhooks(this, options.webhooks, limits)
    this.#stopSweeps = sweepRegularly(this.stores, this.log)
    const { lease } = this.stores
    this.#takeOver = lease && new TakeOver(this, lease)
    this.#stopLosing = lease?.onLost(() => this.#leaseLost())
    this.#unsubscribe = this.stores.control.subscribe((message) => this.#obey(message))
    const { runs, files } = this.stores
    if (files !== undefined) this.#stopRemovals = runs.onRemove?.((runIds) => files.remove(runIds))
  }

  get active(): number {
    return this.live.size
  }

  get recovering(): boolean {
    return this.#recovery.isInProgress
  }

  get draining(): boolean {
    return this.live.draining
  }

  start(runnable: Runnable, input: RunInput, options: StartOptions = {}): Promise<Run> {
    return startRun(this, runnable, input, options)
  }

  refusal(owner: string, often?: boolean, runs?: number): StartRefusal | undefined {
    return this.live.refusal(owner, often, runs)
  }

  async get(runId: string): Promise<StoredRun | undefined> {
    await this.#recoverFirst(runId)
    return this.stores.runs.get(runId)
  }

  async find(runId: string): Promise<RunSummary | undefined> {
    await this.#recoverFirst(runId)
    const run = await this.stores.runs.find(runId)
    return run && this.#positions.addTo(run)
  }

  async list(query: Parameters<RunEngine['list']>[0]): ReturnType<RunEngine['list']> {
    const page = await this.stores.runs.list(query)
    return { ...page, runs: await this.#positions.addToAll(page.runs) }
  }

  parts(runId: string, after = 0, signal?: AbortSignal): ReturnType<RunEngine['parts']> {
    return readParts(this, runId, after, signal)
  }

  followTransients(runId: string, listener: (part: TransientPart) => void): () => void {
    return this.transients.follow(runId, listener)
  }

  async cancel(runId: string): Promise<RunSummary> {
    await this.#recoverFirst(runId)
    if (await cancelHere(this, runId)) return this.#require(runId)
    const stored = await this.#require(runId)
    if (isTerminalStatus(stored.status)) throw new RUN_ERR_TERMINAL(stored.status)
    // The run is left for another process, which would not receive the cancel.
    if (this.#isOver) throw new RUN_ERR_DRAINING()
    await cancelElsewhere(this, runId)
    return this.#require(runId)
  }

  async steer(runId: string, message: RunInput, options: StartOptions = {}): Promise<boolean> {
    await this.#recoverFirst(runId)
    return steerByRequest(this, runId, message, options)
  }

  listInputs(query: Parameters<RunEngine['listInputs']>[0]): ReturnType<RunEngine['listInputs']> {
    return this.inputs.list(query)
  }

  async findInput(inputId: string): ReturnType<RunEngine['findInput']> {
    await this.#recoverFirst(runIdOf(inputId))
    return this.inputs.find(inputId)
  }

  async answer(inputId: string, answer: ApprovalAnswer | InputAnswer): Promise<RunSummary> {
    await this.#recoverFirst(runIdOf(inputId))
    await this.inputs.answer(inputId, answer)
    return this.#require(runIdOf(inputId))
  }

  recover(): Promise<number> {
    return this.#recovery.run()
  }

  async #recover(): Promise<number> {
    const { ended, loads } = await this.interrupted.recover()
    await this.queued.recover()
    this.schedules.begin()
    this.webhooks.begin()
    // Other nodes may load them first.
    if (this.#takeOver === undefined) await Promise.all(loads)
    else this.#takeOver.begin()
    return ended
  }

  resume(runnable: Runnable, registry = this.surfaces.registryOf(runnable)): Promise<number> {
    const resumed = this.interrupted.resume(runnable, registry)
    this.queued.known(runnable)
    this.schedules.known()
    return resumed
  }

  release(runnable: Runnable, registry = this.surfaces.registryOf(runnable)): void {
    this.interrupted.release(runnable, registry)
  }

  use(middleware: readonly RunMiddleware[]): void {
    if (middleware.length > 0)
      this.around = { list: [...(this.around?.list ?? []), ...middleware], passed: 0 }
  }

  drain(timeout = this.#drainTimeout): Promise<void> {
    requireEngineOptions({ drainTimeout: timeout })
    return (this.#drained ??= this.#drain(timeout))
  }

  close(): Promise<void> {
    return (this.#closes ??= this.#close())
  }

  async #require(runId: string): Promise<RunSummary> {
    const stored = await this.find(runId)
    if (stored === undefined) throw new RUN_ERR_NOT_FOUND(runId)
    return stored
  }

  // A run that recovery has not reached yet must be resumed or ended before anything else happens to it: what is found of it decides that.
  async #recoverFirst(runId: string): Promise<void> {
    if (this.recovering && !this.live.has(runId)) await this.interrupted.recoverOne(runId)
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
    if (!run.resumable || !this.durable) this.live.requireHold(run.record.owner, heldBytesOf(run))
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

  #drain(timeout: number): Promise<void> {
    this.#closing.abort()
    void this.queued.stop()
    return this.live.drain(timeout, this.stores.lease && ((run) => this.#handOver(run)))
  }

  // Suspends the runs that are left, or ends them as interrupted.
  async #close(): Promise<void> {
    await this.drain()
    this.#isOver = true
    this.#stopSweeps()
    this.#watch.close()
    this.#stopLosing?.()
    await this.#takeOver?.idle()
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
