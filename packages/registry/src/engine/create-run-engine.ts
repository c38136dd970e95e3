import {
  ANONYMOUS,
  isTerminalStatus,
  type ApprovalAnswer,
  type EventBus,
  type InputAnswer,
  type RunInput,
  type Runnable,
  type RunSummary,
  type StoredRun,
  type Stores
} from '@svc/contract'
import {
  RUN_ERR_DRAINING,
  RUN_ERR_KEY_REUSED,
  RUN_ERR_NO_LEASE,
  RUN_ERR_NOT_FOUND,
  RUN_ERR_TERMINAL
} from '@svc/contract/errors'
import type { Surfaces } from '../access/surfaces.ts'
import { ENGINE_DEFAULTS, requireEngineOptions, type RunEngineOptions } from '../options.ts'
import { requireNode } from '../app/app-scope.ts'
import { runIdOf } from '@svc/contract/stores'
import { cancelElsewhere, cancelHere } from './cancel-run.ts'
import { EngineHost } from './engine-host.ts'
import { LiveRun } from './live-run.ts'
import { readParts, type TransientPart } from './log/log-reader.ts'
import { Recovery } from '../recovery/recovery.ts'
import { watchInputs } from '../queue/queued-runs.ts'
import { ReplayedRun } from './replayed-run.ts'
import { prepareStart } from './prepare-start.ts'
import { requireAfterTurn, steerByRequest } from '../turns/before-turn.ts'
import { whenBusyOf } from '../turns/run-turn.ts'
import { toRecordedInput, type RecordedInput } from './recorded-input.ts'
import type { Run, RunEngine, StartRefusal } from './run-engine.ts'
import type { StartOptions } from './start-options.ts'
import { startRun } from './start-run.ts'
import type { Schedules } from '../schedules/schedules.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'

/** Makes an engine. @throws REG_ERR_BAD_OPTION, REG_ERR_OLD_NODE */
export function createRunEngine(options: RunEngineOptions = {}): RunEngine {
  requireNode()
  requireEngineOptions(options)
  return new Engine(options)
}

// The host stays private: at run time, too, an app sees the public interface only.
class Engine implements RunEngine {
  readonly #host: EngineHost
  readonly #drainTimeout: number
  readonly #recovery = new Recovery(() => this.#recover())
  readonly stores: Stores
  readonly events: EventBus
  readonly surfaces: Surfaces
  readonly schedules: Schedules
  readonly sessions: Sessions
  readonly webhooks: Webhooks
  readonly record: RunEngine['record']
  readonly closed: AbortSignal
  #drained: Promise<void> | undefined
  #closing: Promise<void> | undefined
  #isOver = false

  constructor(options: RunEngineOptions) {
    this.#host = new EngineHost(options)
    this.#drainTimeout = options.drainTimeout ?? ENGINE_DEFAULTS.drainTimeout
    ;({
      stores: this.stores,
      events: this.events,
      surfaces: this.surfaces,
      schedules: this.schedules,
      sessions: this.sessions,
      webhooks: this.webhooks,
      record: this.record,
      closed: this.closed
    } = this.#host)
  }

  get active(): number {
    return this.#host.live.size
  }

  get recovering(): boolean {
    return this.#recovery.isInProgress
  }

  get draining(): boolean {
    return this.#host.live.draining
  }

  async start(runnable: Runnable, given: RunInput, asked: StartOptions = {}): Promise<Run> {
    const { live, webhooks } = this.#host
    const { input, options } = prepareStart(runnable, given, asked)
    const recorded = this.record.input ? toRecordedInput(input) : undefined
    const whenBusy = whenBusyOf(runnable, options)
    if (options.afterTurn !== undefined) await requireAfterTurn(this.#host, runnable, options)
    const { sub } = options.principal ?? ANONYMOUS
    if (this.stores.lease?.held === false) throw new RUN_ERR_NO_LEASE()
    if (options.queue ?? runnable.queue) return this.#enqueue(runnable, input, recorded, options)
    const webhook = options.webhook && (await webhooks.prepare(options.webhook, options.redact))
    const full = live.refusal(sub)
    if (full !== undefined) return this.#repeat(runnable, options, full.error)
    const run = new LiveRun(this.#host, runnable, options)
    const found = await startRun(this.#host, { run, input, recorded, whenBusy, webhook })
    if (found === undefined) return run
    return found.joined ? new ReplayedRun(this, found.run, 'joined') : this.#replay(found.run, options)
  }

  refusal(owner: string, often?: boolean): StartRefusal | undefined {
    return this.#host.live.refusal(owner, often)
  }

  async get(runId: string): Promise<StoredRun | undefined> {
    await this.#recoverFirst(runId)
    return this.stores.runs.get(runId)
  }

  async find(runId: string): Promise<RunSummary | undefined> {
    await this.#recoverFirst(runId)
    const run = await this.stores.runs.find(runId)
    return run && this.#host.positions.addTo(run)
  }

  async list(query: Parameters<RunEngine['list']>[0]): ReturnType<RunEngine['list']> {
    const page = await this.stores.runs.list(query)
    return { ...page, runs: await this.#host.positions.addToAll(page.runs) }
  }

  faultOf(runId: string): Error | undefined {
    return this.#host.faultOf(runId)
  }

  parts(runId: string, after = 0, signal?: AbortSignal): ReturnType<RunEngine['parts']> {
    return readParts(this, runId, after, signal)
  }

  followTransients(runId: string, listener: (part: TransientPart) => void): () => void {
    return this.#host.transients.follow(runId, listener)
  }

  async cancel(runId: string): Promise<RunSummary> {
    await this.#recoverFirst(runId)
    if (await cancelHere(this.#host, runId)) return this.#require(runId)
    const stored = await this.#require(runId)
    if (isTerminalStatus(stored.status)) throw new RUN_ERR_TERMINAL(stored.status)
    // The run is left for another process, which would not receive the cancel.
    if (this.#isOver) throw new RUN_ERR_DRAINING()
    await cancelElsewhere(this.#host, runId)
    return this.#require(runId)
  }

  async steer(runId: string, message: RunInput, options: StartOptions = {}): Promise<boolean> {
    await this.#recoverFirst(runId)
    return steerByRequest(this.#host, runId, message, options)
  }

  listInputs(query: Parameters<RunEngine['listInputs']>[0]): ReturnType<RunEngine['listInputs']> {
    return this.#host.inputs.list(query)
  }

  async findInput(inputId: string): ReturnType<RunEngine['findInput']> {
    await this.#recoverFirst(runIdOf(inputId))
    return this.#host.inputs.find(inputId)
  }

  async answer(inputId: string, answer: ApprovalAnswer | InputAnswer): Promise<RunSummary> {
    await this.#recoverFirst(runIdOf(inputId))
    await this.#host.inputs.answer(inputId, answer)
    return this.#require(runIdOf(inputId))
  }

  recover(): Promise<number> {
    return this.#recovery.run()
  }

  async #recover(): Promise<number> {
    const { ended, loads } = await this.#host.recover()
    await this.#host.queued.recover()
    this.schedules.begin()
    this.webhooks.begin()
    const { takeOver } = this.#host
    // Other nodes may load them first.
    if (takeOver === undefined) await Promise.all(loads)
    else takeOver.begin()
    return ended
  }

  resume(runnable: Runnable, registry = this.surfaces.registryOf(runnable)): Promise<number> {
    const resumed = this.#host.interrupted.resume(runnable, registry)
    this.#host.queued.known(runnable)
    this.schedules.known()
    return resumed
  }

  release(runnable: Runnable, registry = this.surfaces.registryOf(runnable)): void {
    this.#host.interrupted.release(runnable, registry)
  }

  drain(timeout = this.#drainTimeout): Promise<void> {
    requireEngineOptions({ drainTimeout: timeout })
    return (this.#drained ??= this.#host.drain(timeout))
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    await this.drain()
    this.#isOver = true
    await this.#host.close()
  }

  async #require(runId: string): Promise<RunSummary> {
    const stored = await this.find(runId)
    if (stored === undefined) throw new RUN_ERR_NOT_FOUND(runId)
    return stored
  }

  // A run that recovery has not reached yet must be resumed or ended before anything else happens to it: what is found of it decides that.
  async #recoverFirst(runId: string): Promise<void> {
    const { live, interrupted } = this.#host
    if (this.recovering && !live.has(runId)) await interrupted.recoverOne(runId)
  }

  async #enqueue(
    runnable: Runnable,
    input: RunInput,
    recorded: RecordedInput | undefined,
    options: StartOptions
  ): Promise<Run> {
    if (this.draining) throw new RUN_ERR_DRAINING()
    const { run, earlier } = await this.#host.queued.add(runnable, input, recorded, options)
    if (earlier !== undefined) return this.#replay(earlier, options)
    if (options.onInputRequest) void watchInputs(this, run.runId, options.onInputRequest)
    return new ReplayedRun(this, run, 'queued')
  }

  // At a limit, a repeated start still gets its run.
  async #repeat(runnable: Runnable, options: StartOptions, refusal: Error): Promise<Run> {
    const { startKey, principal = ANONYMOUS, registry = this.surfaces.registryOf(runnable) } = options
    if (startKey === undefined) throw refusal
    const earlier = await this.stores.runs.findStarted({ registry, owner: principal.sub, startKey })
    if (earlier === undefined) throw refusal
    return this.#replay(earlier, options)
  }

  #replay(earlier: RunSummary, { startKey }: StartOptions): Run {
    if (earlier.startKey?.hash !== startKey?.hash) throw new RUN_ERR_KEY_REUSED()
    return new ReplayedRun(this, earlier)
  }
}
