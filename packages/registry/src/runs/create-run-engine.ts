import { setMaxListeners } from 'node:events'
import { Exposures } from '../access/exposures.ts'
import type { RunInput } from '../contract/content-part.ts'
import { ANONYMOUS } from '../contract/principal.ts'
import { type RunLog, SILENT_LOG } from '../contract/run-log.ts'
import { isTerminalStatus, type ApprovalAnswer } from '../contract/run-record.ts'
import type { Runnable } from '../contract/runnable.ts'
import {
  RUN_ERR_DRAINING,
  RUN_ERR_INTERRUPTED,
  RUN_ERR_KEY_REUSED,
  RUN_ERR_NOT_FOUND,
  RUN_ERR_STORE,
  RUN_ERR_TERMINAL
} from '../errors.ts'
import { createEventBus } from '../events/create-event-bus.ts'
import { ENGINE_DEFAULTS, requireEngineOptions, type RunEngineOptions } from '../options.ts'
import { requireNode } from '../require-node.ts'
import { isPromise } from '../contract/ports/awaitable.ts'
import type { ControlMessage } from '../contract/ports/control-bus.ts'
import { createInProcessStores } from '../stores/in-process/in-process-stores.ts'
import { PassingMap } from '../stores/passing-map.ts'
import { runIdOf } from '../stores/run-cursor.ts'
import type { RunSummary, StoredRun } from '../contract/ports/run-store.ts'
import type { Stores } from '../contract/ports/stores.ts'
import { ApprovalsDesk, type DeskHost } from './approvals/approvals-desk.ts'
import { Drain } from './drain.ts'
import { guardStores } from '../stores/upkeep/guard-stores.ts'
import { InterruptedRuns, type ResumeHost } from './recovery/interrupted-runs.ts'
import { LiveRun } from './live-run.ts'
import { readParts } from './log/log-reader.ts'
import { LostRuns } from './recovery/lost-runs.ts'
import { Recovery } from './recovery/recovery.ts'
import { ReplayedRun } from './replayed-run.ts'
import { requireInput } from './require-input.ts'
import type { Run, RunEngine } from './run-engine.ts'
import type { HostedRun } from './run-host.ts'
import { RunLimits } from './run-limits.ts'
import { StoreWatch } from '../stores/upkeep/store-watch.ts'
import { sweepStores } from '../stores/upkeep/sweep-stores.ts'
import type { EventBus } from '../contract/event-bus.ts'
import type { StartOptions } from './start-options.ts'

/** Milliseconds between two looks for what the stores need not keep any longer. */
const SWEEP_EVERY = 60_000

/** Makes an engine. @throws REG_ERR_BAD_OPTION, REG_ERR_OLD_NODE */
export function createRunEngine(options: RunEngineOptions = {}): RunEngine {
  requireNode()
  requireEngineOptions(options)
  return new Engine(options)
}

class Engine implements RunEngine, ResumeHost, DeskHost {
  readonly stores: Stores
  readonly events: EventBus
  readonly log: RunLog
  readonly exposures: Exposures
  readonly maxLogBytes: number
  readonly #drainTimeout: number
  readonly limits: RunLimits
  readonly #closed = new AbortController()
  readonly closed = this.#closed.signal
  readonly #begunToClose = new AbortController()
  readonly closing = this.#begunToClose.signal
  readonly #interrupted: InterruptedRuns
  readonly #recovery = new Recovery(() => this.#interrupted.recover())
  readonly #desk = new ApprovalsDesk(this)
  readonly #live = new PassingMap<string, LiveRun>()
  readonly #watch: StoreWatch
  readonly lostRuns: LostRuns
  readonly #sweeper: NodeJS.Timeout
  readonly #unsubscribe: () => void
  #drain: Drain | undefined
  #drained: Promise<void> | undefined
  #closing: Promise<void> | undefined
  #isOver = false

  constructor(options: RunEngineOptions) {
    this.log = options.log ?? SILENT_LOG
    const { stores } = options
    const catchUp = () => this.lostRuns.catchUp().then(() => this.#desk.catchUp())
    this.#watch = new StoreWatch(this.log, () => stores?.check?.(), catchUp)
    // Those in memory do not fail.
    this.stores = stores ? guardStores(stores, this.#watch) : createInProcessStores(options.retention)
    this.lostRuns = new LostRuns({ stores: this.stores, goOn: (run) => this.#interrupted.goOn(run) })
    // Every reader listens to it.
    setMaxListeners(0, this.closed)
    this.events = options.events ?? createEventBus(this.log)
    const { authenticate, authorize, limits, drainTimeout, resumeTimeout } = options
    this.exposures = new Exposures({ authenticate, authorize })
    this.maxLogBytes = limits?.maxLogBytes ?? ENGINE_DEFAULTS.maxLogBytes
    this.limits = new RunLimits(limits)
    this.#drainTimeout = drainTimeout ?? ENGINE_DEFAULTS.drainTimeout
    const patience = resumeTimeout ?? ENGINE_DEFAULTS.resumeTimeout
    this.#interrupted = new InterruptedRuns(this, patience)
    this.#sweeper = setInterval(() => void sweepStores(this.stores, this.log), SWEEP_EVERY).unref()
    this.#unsubscribe = this.stores.control.subscribe((message) => this.#obey(message))
  }

  get active(): number {
    return this.#live.size
  }

  get recovering(): boolean {
    return this.#recovery.isUnderWay
  }

  get draining(): boolean {
    return this.#drain !== undefined
  }

  async start(runnable: Runnable, input: RunInput, options: StartOptions = {}): Promise<Run> {
    const owner = (options.principal ?? ANONYMOUS).sub
    requireInput(runnable, input)
    this.#admit(owner)
    const run = new LiveRun(this, runnable, options)
    this.enter(run)
    try {
      const created = this.stores.runs.create(run.record)
      // Only a start with a key has to know first whether there was one before.
      const earlier = options.startKey === undefined ? undefined : await created
      if (earlier !== undefined) {
        this.ended(run)
        return this.#replay(earlier, options)
      }
      const kept = this.#interrupted.keep(run, input)
      run.begin(input)
      if (isPromise(created)) await created
      if (isPromise(kept)) await kept
      this.#drain?.stop(run)
    } catch (err) {
      if (err instanceof RUN_ERR_KEY_REUSED) throw err
      // Whoever started it is told that it did not begin: it never goes on by itself.
      run.losses = Infinity
      await run.interrupt(new RUN_ERR_STORE({ cause: err }))
      throw new RUN_ERR_STORE({ cause: err })
    }
    return run
  }

  async get(runId: string): Promise<StoredRun | undefined> {
    return this.stores.runs.get(runId)
  }

  async find(runId: string): Promise<RunSummary | undefined> {
    return this.stores.runs.find(runId)
  }

  async list(query: Parameters<RunEngine['list']>[0]): ReturnType<RunEngine['list']> {
    return this.stores.runs.list(query)
  }

  parts(runId: string, after = 0, signal?: AbortSignal): ReturnType<RunEngine['parts']> {
    return readParts(this, runId, after, signal)
  }

  async cancel(runId: string): Promise<RunSummary> {
    await this.#seek(runId)
    await this.#interrupted.moved(runId)
    const run = this.#live.get(runId)
    if (run !== undefined && (await run.cancel())) return this.#require(runId)
    if (await this.lostRuns.cancel(runId)) return this.#require(runId)
    if (await this.#interrupted.cancel(runId)) return this.#require(runId)
    const stored = await this.#require(runId)
    if (isTerminalStatus(stored.status)) throw new RUN_ERR_TERMINAL(stored.status)
    // It is left for another process, which would not hear of it.
    if (this.#isOver) throw new RUN_ERR_DRAINING()
    await this.stores.control.publish({ type: 'cancel', runId })
    return stored
  }

  listApprovals(query: Parameters<RunEngine['listApprovals']>[0]): ReturnType<RunEngine['listApprovals']> {
    return this.#desk.list(query)
  }

  findApproval(approvalId: string): ReturnType<RunEngine['findApproval']> {
    return this.#desk.find(approvalId)
  }

  async answer(approvalId: string, answer: ApprovalAnswer): Promise<RunSummary> {
    await this.#seek(runIdOf(approvalId))
    await this.#desk.answer(approvalId, answer)
    return this.#require(runIdOf(approvalId))
  }

  recover(): Promise<number> {
    return this.#recovery.run()
  }

  resume(runnable: Runnable, registry = this.exposures.registryOf(runnable)): Promise<number> {
    return this.#interrupted.resume(runnable, registry)
  }

  release(runnable: Runnable, registry = this.exposures.registryOf(runnable)): void {
    this.#interrupted.release(runnable, registry)
  }

  drain(timeout = this.#drainTimeout): Promise<void> {
    requireEngineOptions({ drainTimeout: timeout })
    if (this.#drained === undefined) {
      this.#begunToClose.abort()
      this.limits.close()
      this.#drain = new Drain()
      this.#drained = this.#drain.wait(this.#live.values(), timeout)
    }
    return this.#drained
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  isLive(runId: string): boolean {
    return this.#live.has(runId)
  }

  enter(run: LiveRun): void {
    this.#live.add(run.runId, run)
    this.limits.enter(run.record.owner)
  }

  ended(run: HostedRun): void {
    this.#live.delete(run.runId)
    this.#interrupted.forget(run)
    this.limits.leave(run.record.owner)
    this.#drain?.leave(run)
  }

  rests(run: HostedRun, until: number): void {
    void this.#interrupted.unload(run, until)
  }

  lost(run: HostedRun, reason: unknown): void {
    this.lostRuns.add(run, reason)
  }

  faultOf(runId: string): Error | undefined {
    return this.lostRuns.faultOf(runId)
  }

  expireApproval(approvalId: string): void {
    void this.#desk.expire(approvalId)
  }

  liveRun(runId: string): LiveRun | undefined {
    const run = this.#live.get(runId)
    return run?.suspended ? undefined : run
  }

  wake(runId: string): Promise<boolean> {
    return this.#interrupted.wake(runId)
  }

  async #require(runId: string): Promise<RunSummary> {
    const stored = await this.find(runId)
    if (stored === undefined) throw new RUN_ERR_NOT_FOUND(runId)
    return stored
  }

  // Whether a run that recovery has not come to yet goes on is decided before anything is done to it.
  async #seek(runId: string): Promise<void> {
    if (this.recovering && !this.#live.has(runId)) await this.#interrupted.recoverOne(runId)
  }

  #replay(earlier: RunSummary, { startKey }: StartOptions): Run {
    if (earlier.startKey?.hash !== startKey?.hash) throw new RUN_ERR_KEY_REUSED()
    return new ReplayedRun(this, earlier)
  }

  #admit(owner: string): void {
    if (this.draining) throw new RUN_ERR_DRAINING()
    this.limits.require(owner)
  }

  #obey(message: ControlMessage): void {
    // What goes wrong is in the log of the service already.
    if (message.type === 'cancel')
      (this.#live.get(message.runId) ?? this.#interrupted).cancel(message.runId).catch(() => {})
    else this.#desk.handOn(message.approvalId, message.answer).catch(() => {})
  }

  async #close(): Promise<void> {
    await this.drain()
    clearInterval(this.#sweeper)
    this.#watch.close()
    this.#isOver = true
    const left = this.#live.values()
    await Promise.all(
      left.map((run) => (run.resumable ? run.suspend() : run.interrupt(new RUN_ERR_INTERRUPTED())))
    )
    await this.#interrupted.close()
    this.#closed.abort()
    this.#unsubscribe()
  }
}
