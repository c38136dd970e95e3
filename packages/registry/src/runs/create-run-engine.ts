import { setMaxListeners } from 'node:events'
import type { RunInput } from '../contract/content-part.ts'
import { ANONYMOUS } from '../contract/principal.ts'
import type { ApprovalOutcome, RunLog } from '../contract/run-context.ts'
import { isTerminalStatus, type ApprovalAnswer } from '../contract/run-record.ts'
import type { Runnable } from '../contract/runnable.ts'
import {
  RUN_ERR_APPROVAL_ANSWERED,
  RUN_ERR_APPROVAL_NOT_FOUND,
  RUN_ERR_DRAINING,
  RUN_ERR_INTERRUPTED,
  RUN_ERR_KEY_REUSED,
  RUN_ERR_NOT_FOUND,
  RUN_ERR_OVERLOADED,
  RUN_ERR_STORE,
  RUN_ERR_TERMINAL,
  RUN_ERR_TOO_MANY_RUNS
} from '../errors.ts'
import { createEventBus, type EventBus } from '../events/event-bus.ts'
import { ENGINE_DEFAULTS, EngineOptionsSchema, requireOptions, type RunEngineOptions } from '../options.ts'
import { requireNode } from '../require-node.ts'
import { isPromise } from '../stores/awaitable.ts'
import type { ControlMessage } from '../stores/control-bus.ts'
import { createMemoryStores } from '../stores/memory/memory-stores.ts'
import { PassingMap } from '../stores/passing-map.ts'
import { runIdOf } from '../stores/run-cursor.ts'
import type { RunSummary, StoredRun } from '../stores/run-store.ts'
import type { Stores } from '../stores/stores.ts'
import { SILENT_LOG } from './create-context.ts'
import { InterruptedRuns, type ResumeHost } from './interrupted-runs.ts'
import { LiveRun } from './live-run.ts'
import { readParts } from './log-reader.ts'
import { LostRuns } from './lost-runs.ts'
import { ReplayedRun } from './replayed-run.ts'
import { requireInput } from './require-input.ts'
import { requireAnswer } from './require-answer.ts'
import type { Run, RunEngine, StartOptions } from './run-engine.ts'
import { sweepStores } from './sweep-stores.ts'
import { toLoggable } from './to-loggable.ts'

/** Milliseconds between two looks for what the stores need not keep any longer. */
const SWEEP_EVERY = 60_000

/** Makes an engine. @throws REG_ERR_BAD_OPTION, REG_ERR_OLD_NODE */
export function createRunEngine(options: RunEngineOptions = {}): RunEngine {
  requireNode()
  requireOptions(EngineOptionsSchema, withoutUndefined(options))
  return new Engine(options)
}

class Engine implements RunEngine, ResumeHost {
  readonly stores: Stores
  readonly events: EventBus
  readonly log: RunLog
  readonly maxLogBytes: number
  readonly #maxRuns: number
  readonly #maxRunsPerOwner: number
  readonly #drainTimeout: number
  readonly #closed = new AbortController()
  readonly #interrupted: InterruptedRuns
  readonly #live = new PassingMap<string, LiveRun>()
  readonly #lost: LostRuns
  readonly #byOwner = new Map<string, number>()
  readonly #sweeper: NodeJS.Timeout
  readonly #unsubscribe: () => void
  #closing: Promise<void> | undefined
  #onIdle: (() => void) | undefined

  constructor(options: RunEngineOptions) {
    this.log = options.log ?? SILENT_LOG
    this.stores = options.stores ?? createMemoryStores(options.retention)
    this.#lost = new LostRuns(this.stores)
    // Every reader listens to it.
    setMaxListeners(0, this.closed)
    this.events = options.events ?? createEventBus(this.log)
    const { limits, drainTimeout, resumeTimeout } = options
    this.maxLogBytes = limits?.maxLogBytes ?? ENGINE_DEFAULTS.maxLogBytes
    this.#maxRuns = limits?.maxRuns ?? ENGINE_DEFAULTS.maxRuns
    this.#maxRunsPerOwner = limits?.maxRunsPerOwner ?? ENGINE_DEFAULTS.maxRunsPerOwner
    this.#drainTimeout = drainTimeout ?? ENGINE_DEFAULTS.drainTimeout
    const patience = resumeTimeout ?? ENGINE_DEFAULTS.resumeTimeout
    this.#interrupted = new InterruptedRuns(this, patience, options.authorize)
    this.#sweeper = setInterval(
      () => void sweepStores(this.stores, this.#lost, this.log),
      SWEEP_EVERY
    ).unref()
    this.#unsubscribe = this.stores.control.subscribe((message) => this.#obey(message))
  }

  get active(): number {
    return this.#live.size
  }

  get closed(): AbortSignal {
    return this.#closed.signal
  }

  get draining(): boolean {
    return this.#closing !== undefined
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
    } catch (err) {
      if (err instanceof RUN_ERR_KEY_REUSED) throw err
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
    const run = this.#live.get(runId)
    if (run !== undefined && (await run.cancel())) return this.#require(runId)
    if (await this.#interrupted.cancel(runId)) return this.#require(runId)
    const stored = await this.#require(runId)
    if (isTerminalStatus(stored.status)) throw new RUN_ERR_TERMINAL(stored.status)
    await this.stores.control.publish({ type: 'cancel', runId })
    return stored
  }

  async listApprovals(
    query: Parameters<RunEngine['listApprovals']>[0]
  ): ReturnType<RunEngine['listApprovals']> {
    return this.stores.runs.listApprovals(query)
  }

  async findApproval(approvalId: string): ReturnType<RunEngine['findApproval']> {
    return this.stores.runs.findApproval(approvalId)
  }

  async answer(approvalId: string, answer: ApprovalAnswer): Promise<RunSummary> {
    const outcome = requireAnswer(answer)
    if (!(await this.#accept(approvalId, outcome))) {
      if ((await this.findApproval(approvalId)) === undefined)
        throw new RUN_ERR_APPROVAL_NOT_FOUND(approvalId)
      throw new RUN_ERR_APPROVAL_ANSWERED()
    }
    return this.#require(runIdOf(approvalId))
  }

  recover(): Promise<number> {
    return this.#interrupted.recover()
  }

  resume(runnable: Runnable): Promise<number> {
    return this.#interrupted.resume(runnable)
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  isLive(runId: string): boolean {
    return this.#live.has(runId)
  }

  enter(run: LiveRun): void {
    const { owner } = run.record
    this.#live.add(run.runId, run)
    if (owner !== ANONYMOUS.sub) this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? 0) + 1)
  }

  ended(run: LiveRun): void {
    this.#live.delete(run.runId)
    this.#interrupted.forget(run)
    const { owner } = run.record
    if (owner !== ANONYMOUS.sub) {
      const left = this.#byOwner.get(owner)! - 1
      if (left === 0) this.#byOwner.delete(owner)
      else this.#byOwner.set(owner, left)
    }
    if (this.#live.size === 0) this.#onIdle?.()
  }

  lost(run: LiveRun, reason: unknown): void {
    this.stores.log.abandon(run.runId)
    this.#lost.add(run.record, reason)
  }

  expireApproval(approvalId: string): void {
    this.#expire(approvalId).catch((err: unknown) => {
      this.log.error({ err: toLoggable(err), approvalId }, 'an approval could not be ended')
    })
  }

  async #expire(approvalId: string): Promise<void> {
    const outcome = { approved: false, expired: true, reason: 'not answered in time' }
    if (await this.#accept(approvalId, outcome)) return
    // Someone was faster, and may have died before it told of it.
    const answer = (await this.findApproval(approvalId))?.approval.answer
    if (answer) await this.#live.get(runIdOf(approvalId))?.approvalAnswered(approvalId, answer)
  }

  async #require(runId: string): Promise<RunSummary> {
    const stored = await this.find(runId)
    if (stored === undefined) throw new RUN_ERR_NOT_FOUND(runId)
    return stored
  }

  #replay(earlier: RunSummary, { startKey }: StartOptions): Run {
    if (earlier.startKey?.hash !== startKey?.hash) throw new RUN_ERR_KEY_REUSED()
    return new ReplayedRun(this, earlier)
  }

  #admit(owner: string): void {
    if (this.draining) throw new RUN_ERR_DRAINING()
    if (this.#live.size >= this.#maxRuns) throw new RUN_ERR_OVERLOADED()
    if (owner !== ANONYMOUS.sub && (this.#byOwner.get(owner) ?? 0) >= this.#maxRunsPerOwner)
      throw new RUN_ERR_TOO_MANY_RUNS()
  }

  // The store takes the first answer only; the run that waits may be on another node.
  async #accept(approvalId: string, answer: ApprovalOutcome): Promise<boolean> {
    const runId = runIdOf(approvalId)
    const { stores } = this.#live.get(runId) ?? this
    if (!(await stores.runs.answerApproval(runId, approvalId, answer))) return false
    const run = this.#live.get(runId)
    if (run !== undefined) await run.approvalAnswered(approvalId, answer)
    else await this.stores.control.publish({ type: 'approval', runId, approvalId, answer })
    return true
  }

  #obey(message: ControlMessage): void {
    const run = this.#live.get(message.runId)
    // What goes wrong is in the log of the service already.
    if (message.type === 'cancel') (run ?? this.#interrupted).cancel(message.runId).catch(() => {})
    else void run?.approvalAnswered(message.approvalId, message.answer)
  }

  async #close(): Promise<void> {
    clearInterval(this.#sweeper)
    for (const run of this.#live.values()) if (run.resumable) run.suspendSoon()
    if (this.#live.size > 0 && this.#drainTimeout > 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#onIdle = resolve
      const timer = setTimeout(resolve, this.#drainTimeout)
      await promise
      clearTimeout(timer)
    }
    const left = this.#live.values()
    await Promise.all(
      left.map((run) => (run.resumable ? run.suspend() : run.interrupt(new RUN_ERR_INTERRUPTED())))
    )
    await this.#interrupted.close()
    this.#closed.abort()
    this.#unsubscribe()
  }
}

function withoutUndefined(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
