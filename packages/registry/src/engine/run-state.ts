import type { AnswerSeal } from './inputs/answer-seal.ts'
import { redactStores } from '../redaction/redact-stores.ts'
import type {
  Awaitable,
  EventBus,
  NumberedPart,
  RunInput,
  RunLog,
  Runnable,
  RunResult,
  StoredRun,
  Stores
} from '@svc/contract'
import { readParts } from './log/log-reader.ts'
import type { PartWriter } from './log/part-writer.ts'
import { newRun } from './new-run.ts'
import { MAX_LOSSES, type Earlier, type RunHost } from './run-host.ts'
import { LateSignal, Settlement } from './settlement.ts'
import type { StartOptions } from './start-options.ts'
import { SteeringInbox } from '../turns/steering.ts'
import type { RunTurn } from '../turns/run-turn.ts'

/** What a run in progress is made of, as the engine sees it. */
export abstract class RunState {
  abstract readonly writer: PartWriter
  readonly runId: string
  readonly sessionId: string
  readonly createdAt: number
  readonly replayed = false
  readonly joined = false
  readonly runnable: Runnable
  readonly options: StartOptions
  readonly record: StoredRun
  readonly stores: Stores
  readonly seal: AnswerSeal
  readonly events: EventBus
  readonly log: RunLog
  readonly recordsInput: boolean
  readonly resumed: boolean
  resumable = false
  suspended = false
  /** True if it has left memory until what it waits for has it loaded again. */
  unloaded = false
  #onlyWaits: boolean
  #begins: Awaitable<void> = undefined
  input: RunInput
  heldBytes = 0
  /** Why its log could not be written, if so. */
  loss: unknown
  losses: number
  readonly settlement = new Settlement()
  readonly lateSignal = new LateSignal()
  executed: Promise<void> | undefined
  /** Pending while its record is being stored. */
  created: Promise<unknown> | undefined
  turn: RunTurn | undefined
  turnSaved = false
  keeping: Promise<boolean> | undefined
  /** The messages that join it; undefined if none may. */
  readonly inbox: SteeringInbox | undefined

  protected readonly host: RunHost

  constructor(host: RunHost, runnable: Runnable, options: StartOptions, earlier: Earlier | undefined) {
    this.host = host
    this.runnable = runnable
    this.options = options
    this.record = earlier?.record ?? newRun(runnable, options, host.exposures)
    ;({ runId: this.runId, sessionId: this.sessionId, createdAt: this.createdAt } = this.record)
    this.seal = host.seal
    this.stores = redactStores(host.stores, options.redact, this.seal)
    this.events = host.events
    this.log = options.log ?? host.log
    this.recordsInput = host.record.input
    // A run from the queue has its first epoch when it begins.
    this.resumed = earlier !== undefined && this.record.epoch > 1
    this.losses = earlier?.losses ?? 0
    this.#onlyWaits = earlier?.onlyWaits ?? false
    if (runnable.steerable === true) this.inbox = new SteeringInbox(earlier?.log.steers)
  }

  result(): Promise<RunResult> {
    return this.settlement.result
  }

  parts(after = 0, signal?: AbortSignal): AsyncIterable<NumberedPart> {
    return readParts(this.host, this.runId, after, signal)
  }

  /** Call it before the run works: a death of the process counts from now on. */
  beginWork(): Awaitable<void> {
    if (!this.#onlyWaits) return this.#begins
    this.#onlyWaits = false
    return (this.#begins = this.host.begins(this.record))
  }

  waiting(isWaiting: boolean): void {
    if (isWaiting) this.host.waits(this)
    else this.host.works(this)
  }

  // The store must know the input first.
  expire(inputId: string): void {
    this.writer.whenIdle(() => this.host.expireInput(inputId))
  }

  get queued(): boolean {
    return (this.turn?.placed.position ?? 0) > 0
  }

  get mayResume(): boolean {
    return this.resumable && this.losses < MAX_LOSSES
  }
}
