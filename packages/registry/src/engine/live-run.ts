import { setTimeout as pause } from 'node:timers/promises'
import {
  errorFromPart,
  isPromise,
  isTerminalPart,
  type Awaitable,
  type EventBus,
  type InputOutcome,
  type LeftTurn,
  type MiddlewareAround,
  type NumberedPart,
  type Part,
  type PushedParts,
  type RecordedStepOptions,
  type RunChange,
  type RunInput,
  type RunLog,
  type Runnable,
  type RunResult,
  type StoredRun,
  type Stores,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_CANCELED, RUN_ERR_STORE, RUN_ERR_SUSPENDED } from '@svc/contract/errors'
import { isReplayed, takeRecord } from './journal/part-record.ts'
import { takePart } from './log/encode-part.ts'
import { PartWriter, RunProgress, type Ending, type WrittenRun } from './log/part-writer.ts'
import type { AnswerSeal } from './inputs/answer-seal.ts'
import { FencedStores, redactStores } from './run-stores.ts'
import { readParts, type TransientPart } from './log/log-reader.ts'
import { newRun, toStartPart } from './run-record.ts'
import { MAX_LOSSES, type Earlier, type HostedRun, type RunHost } from './run-host.ts'
import { LateSignal, logFault, logLate, logLost, RunReport, Settlement } from './settlement.ts'
import type { StartOptions } from './start-options.ts'
import { SteeringInbox, type SteeredRun } from '../turns/steering.ts'
import { takeTurn, type RunTurn } from '../turns/run-turn.ts'
import { HostedContext, type ContextHost } from './context.ts'
import type { AskedInput, Asker } from './inputs/asked-input.ts'
import type { RunJournal } from './journal/step-journal.ts'
import { isTaken } from '../recovery/left-runs.ts'
import type { Run } from './run-engine.ts'
import { leaveTurn } from '../turns/leave-turn.ts'
import { RunWaits, type WaitsHost } from './run-waits.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'

/**
 * Closes a runnable's iterator. A generator that is waiting notices when its wait ends; this is not awaited by callers, and what it
 * throws then goes to `onFault`.
 */
export async function leaveStream(
  iterator: AsyncIterator<unknown> | undefined,
  onFault: (err: unknown) => void = () => {}
): Promise<void> {
  try {
    await iterator?.return?.()
  } catch (err) {
    onFault(err)
  }
}

function isPushed(stream: AsyncIterable<YieldedPart>): stream is AsyncIterable<YieldedPart> & PushedParts {
  return typeof (stream as Partial<PushedParts>).pushTo === 'function'
}

// Milliseconds between two looks whether a run has begun.
const BEGINS_WITHIN = 5
const STOPPED = { type: 'finish', finishReason: 'stop' } as const
const CANCELED = { type: 'finish', finishReason: 'canceled' } as const

/** A run in progress in this process: numbers its parts, writes its log, and ends it once. */
export class LiveRun implements Run, HostedRun, SteeredRun, ContextHost, WaitsHost, WrittenRun {
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
  readonly writer: PartWriter
  readonly #host: RunHost
  readonly #earlier: Earlier | undefined
  #ownStores: Stores | undefined
  // The stream of its runnable, if it is pulled, until it is over or left.
  #stream: AsyncIterator<YieldedPart> | undefined
  #waits: RunWaits | undefined
  #ended = false
  // While its turn is being kept nothing else ends it.
  #isHeld = false

  constructor(host: RunHost, runnable: Runnable, options: StartOptions, earlier?: Earlier) {
    this.#host = host
    this.runnable = runnable
    this.options = options
    this.record = earlier?.record ?? newRun(runnable, options, host.surfaces)
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
    if (runnable.steerable === true && options.compact !== true)
      this.inbox = new SteeringInbox(earlier?.log.steers)
    this.#earlier = earlier
    const progress = earlier?.progress ?? new RunProgress(host.maxLogBytes)
    this.writer = new PartWriter(this, progress, host.texts)
  }

  result(): Promise<RunResult> {
    return this.settlement.result
  }

  parts(after = 0, signal?: AbortSignal): AsyncIterable<NumberedPart> {
    return readParts(this.#host, this.runId, after, signal)
  }

  /** Call it before the run works: a death of the process counts from now on. */
  beginWork(): Awaitable<void> {
    if (!this.#onlyWaits) return this.#begins
    this.#onlyWaits = false
    return (this.#begins = this.#host.begins(this.record))
  }

  waiting(isWaiting: boolean): void {
    if (isWaiting) this.#host.waits(this)
    else this.#host.works(this)
  }

  // The store must know the input first.
  expire(inputId: string): void {
    this.writer.whenIdle(() => this.#host.expireInput(inputId))
  }

  get queued(): boolean {
    return (this.turn?.placed.position ?? 0) > 0
  }

  get mayResume(): boolean {
    return this.resumable && this.losses < MAX_LOSSES
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Starts or resumes execution; the first part, with the input as the log has it, is written before this returns. */
  begin(input: RunInput, resumable: boolean, logInput: unknown): void {
    this.resumable = resumable
    this.input = input
    try {
      if (!this.writer.begun) this.writer.start(toStartPart(this.record, this.options, logInput, this.queued))
      if (this.#earlier !== undefined) this.#getWaits().resume(this.#earlier.log.answered)
    } catch (err) {
      return void this.end({ error: err })
    }
    this.executed = this.#execute(input)
  }

  /** @param left how it leaves its turn to a later message; a run whose turn is saved ends by itself */
  async cancel(left?: LeftTurn | null): Promise<boolean> {
    if (this.unloaded) return this.#host.cancelUnloaded(this.runId, left)
    if (left && this.turnSaved) return false
    if (left) this.record.leftTurn ??= left
    const isKept = left?.keep === true && !this.#ended
    const canceled = isKept ? await (this.keeping ??= this.#keepTurn(left)) : this.end(CANCELED)
    await this.writer.idle()
    if (isTaken(this.#host.stores, this.loss)) return false
    if (canceled && this.loss) throw new RUN_ERR_STORE({ cause: this.loss })
    return canceled
  }

  async untilBegun(): Promise<void> {
    while (!this.writer.begun && !this.#ended) await pause(BEGINS_WITHIN)
  }

  /** Ends the run as failed from outside. */
  async interrupt(error: unknown): Promise<void> {
    this.end({ error })
    await this.writer.idle()
  }

  /** Ends the run as failed because it could not be stored; it is never resumed. */
  refuse(error: unknown): Promise<void> {
    this.losses = Infinity
    return this.interrupt(error)
  }

  idle(): Promise<void> | undefined {
    return this.writer.idle()
  }

  async suspend(): Promise<void> {
    this.writer.flush()
    if (!this.#ended) this.leave()
    await this.writer.idle()
    // If the store fails, it counts as a death.
    if (this.suspended) await this.#host.left(this)
  }

  unload(): Promise<void> {
    this.unloaded = true
    this.input = undefined
    return this.suspend()
  }

  /** Stops without a last part: another process resumes or ends the run, or has done so. */
  leave(reason: unknown = new RUN_ERR_SUSPENDED()): void {
    this.suspended = true
    this.settlement.outcome = { error: new RUN_ERR_SUSPENDED() }
    if (this.unloaded) this.settlement.report = undefined
    const elsewhere = () => this.#host.resultElsewhere(this.runId)
    if (this.unloaded || this.#host.stores.lease) this.settlement.elsewhere = elsewhere
    this.#leave(reason)
  }

  /** Starts no more steps; calls back once the current ones are recorded and nothing but waits is in progress. */
  stopSteps(onIdle: () => void): void {
    this.#getWaits().journal.stop(onIdle)
  }

  ask(asked: AskedInput, asker: Asker): Promise<InputOutcome> {
    if (this.#ended || this.#isHeld) return Promise.reject(this.lateSignal.why)
    try {
      this.#host.requireWait(this)
    } catch (err) {
      this.end({ error: err })
      return Promise.reject(this.lateSignal.why)
    }
    return this.#getWaits().ask(asked, asker)
  }

  /** Takes an answer; resolves when it is in the log. */
  inputAnswered(inputId: string, outcome: InputOutcome): Promise<void> | undefined {
    try {
      this.#waits?.answered(inputId, outcome)
    } catch (err) {
      this.end({ error: err })
    }
    return this.writer.idle()
  }

  step<T>(key: string, fn: () => Promise<T> | T, options?: RecordedStepOptions): Promise<T> {
    return this.#getWaits().journal.step(key, this.writer.flushingAfter(fn), options)
  }

  /** The stores as its runnable gets them. */
  get ownStores(): Stores {
    return (this.#ownStores ??= new FencedStores(this) as Stores)
  }

  get journal(): RunJournal | undefined {
    return this.resumable ? this.#getWaits().journal : undefined
  }

  get use(): MiddlewareAround | undefined {
    return this.#host.around
  }

  get waitedMs(): number {
    return this.#waits?.waitedMs ?? 0
  }

  sleep(until: number, signal: AbortSignal): Promise<void> {
    return this.#getWaits().sleep(until, signal)
  }

  // Most runs wait for nothing.
  #getWaits(): RunWaits {
    if (this.#waits !== undefined) return this.#waits
    this.#waits = new RunWaits(this, this.#earlier)
    if (this.resumable && this.#host.mayUnload(this.options))
      this.#waits.onDormant((wait) => this.#host.dormant(this, wait))
    return this.#waits
  }

  write(part: Part, change: RunChange): void {
    this.writer.write(part, change)
    if (change.input !== undefined) this.options.onInputRequest?.()
    else this.#host.progressed(this)
  }

  requireOpen(): void {
    if (this.#ended || this.#isHeld) throw this.lateSignal.why
  }

  /** A write of its log failed; nothing more will be written. */
  writeFailed(err: unknown): void {
    this.#storeFailed(err)
  }

  /** Its turn is being saved, by a store in which its end follows: it need not wait. */
  savesTurn(saving: Promise<void>): void {
    saving.catch((err: unknown) => this.writer.fail(err))
  }

  /** A part is for the readers of the moment. */
  publish(part: TransientPart): void {
    this.#host.transients.publish(this.runId, part)
  }

  stepSettled(err?: unknown): void {
    if (err !== undefined || !this.mayResume) return void this.#isLostTo(err)
    this.losses = 0
    this.#host.progressed(this)
  }

  /** Ends the run; true for the one call that did. */
  end(how: Ending): boolean {
    if (this.#ended || this.#isHeld) return false
    if ('error' in how && this.#isLostTo(how.error)) return true
    this.writer.flush()
    // The store may have refused it.
    if (this.loss !== undefined) return true
    this.#ended = true
    const final = this.writer.finish(how)
    const { outcome, reason, fault } = final
    if (fault !== undefined) logFault(this, fault.err, fault.error)
    this.settlement.outcome = outcome
    this.lateSignal.reason = reason
    this.writer.end(final)
    this.#release()
    return true
  }

  // Settles when the runnable has returned.
  #execute(input: RunInput): Promise<void> {
    try {
      const taking = takeTurn(this, this.#host)
      const streaming = isPromise(taking) ? taking.then(() => this.#consume(input)) : this.#consume(input)
      return streaming.then(
        () => this.#returned(),
        (err: unknown) => this.#threw(err)
      )
    } catch (err) {
      this.#threw(err)
      return Promise.resolve()
    }
  }

  #consume(input: RunInput): Promise<void> {
    const context = new HostedContext(this)
    const begunAt = this.#earlier?.isUnloaded && this.createdAt
    this.settlement.report = new RunReport(context, this.runnable, begunAt)
    const stream = this.runnable.stream(input, context)
    return isPushed(stream)
      ? stream.pushTo((part) => this.#accept(part))
      : this.#pull(stream[Symbol.asyncIterator]())
  }

  async #pull(stream: AsyncIterator<YieldedPart>): Promise<void> {
    this.#stream = stream
    for (;;) {
      const { done, value } = await stream.next()
      if (this.#stream === undefined || done) return
      const waiting = this.#accept(value)
      if (waiting !== undefined) await waiting
    }
  }

  #returned(): void {
    this.#stream = undefined
    try {
      this.end(STOPPED)
    } catch (err) {
      this.#threw(err)
    }
  }

  #threw(err: unknown): void {
    if (!this.#ended) this.end({ error: err })
    else if (err !== this.lateSignal.reason) logLate(this, err)
  }

  /** Writes what its runnable yields; undefined if that may yield more at once. @throws why the run has ended */
  #accept(part: YieldedPart): Promise<void> | undefined {
    this.requireOpen()
    if (this.resumed && isReplayed(part)) return undefined
    try {
      this.#write(part)
    } catch (err) {
      // Before the runnable sees the error, which it could take for one of its own.
      this.end({ error: err })
      throw err
    }
    if (this.#ended) return undefined
    this.settlement.report?.take(part)
    if (this.resumed) this.#waits?.take(part)
    return this.writer.congested ? this.writer.idle() : undefined
  }

  #write(yielded: YieldedPart): void {
    const part = takePart(yielded)
    if (part.type === 'start') return
    const record = this.resumable ? takeRecord(yielded) : undefined
    if (!isTerminalPart(part)) this.writer.write(part, undefined, record)
    else if (part.type === 'finish') this.end(yielded as Ending)
    else if (part.type === 'error') this.end({ error: errorFromPart(part.error) })
  }

  // After a store failure a run is left to be resumed instead of ending with the error.
  #isLostTo(err: unknown): boolean {
    if ((this.mayResume && isReported(err)) || isTaken(this.#host.stores, err)) this.#storeFailed(err)
    return this.loss !== undefined
  }

  #storeFailed(err: unknown): void {
    if (this.loss) return
    this.loss = err
    if (isTaken(this.#host.stores, err)) return this.leave()
    this.losses++
    logLost(this, err)
    this.suspended = this.resumable
    const goesOn = this.mayResume && isReported(err)
    this.settlement.outcome = { error: goesOn ? new RUN_ERR_SUSPENDED() : new RUN_ERR_STORE({ cause: err }) }
    // What waits for the turn of a suspended run keeps its place.
    this.#leave(this.suspended ? new RUN_ERR_SUSPENDED() : err)
    this.#host.lost(this, err)
  }

  // Stops the run without a last part.
  #leave(reason: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.writer.drop()
    this.lateSignal.reason = reason
    this.#release()
  }

  // Ends nothing but the work until the session has what was said.
  async #keepTurn(left: LeftTurn): Promise<boolean> {
    await this.untilBegun()
    if (this.#ended) return false
    this.#isHeld = true
    this.lateSignal.reason = new RUN_ERR_CANCELED()
    this.#stop()
    this.writer.flush()
    await this.writer.idle()
    try {
      if (!this.#ended) await leaveTurn(this.#host.stores, this.record, left)
    } catch (err) {
      this.#storeFailed(err)
    }
    this.#isHeld = false
    return this.end(CANCELED)
  }

  #stop(): void {
    // First, so that the abort signal does not withdraw pending inputs.
    this.#waits?.abandon(this.lateSignal)
    this.lateSignal.abort()
    if (this.#stream === undefined) return
    void leaveStream(this.#stream, (err) => logLate(this, err))
    this.#stream = undefined
  }

  #release(): void {
    this.#stop()
    // The run has ended only when its last part is in the log, or cannot be written.
    this.writer.whenIdle(() => {
      this.turn?.leave(this.suspended)
      this.#host.ended(this)
      this.settlement.due()
    })
  }
}
