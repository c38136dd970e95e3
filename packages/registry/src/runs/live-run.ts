import { redactStores } from '../access/redact-stores.ts'
import type { RunInput } from '../contract/content-part.ts'
import { isTerminalPart, type NumberedPart, type Part, type YieldedPart } from '../contract/part.ts'
import type { ApprovalOutcome, ApprovalRequest, RunLog } from '../contract/run-context.ts'
import type { RunResult } from '../contract/run-result.ts'
import type { Runnable } from '../contract/runnable.ts'
import { RUN_ERR_CANCELED, RUN_ERR_STORE, RUN_ERR_SUSPENDED } from '../errors.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { RunChange, StoredRun } from '../stores/run-store.ts'
import type { Stores } from '../stores/stores.ts'
import { requirePart, wholePart } from './encode-part.ts'
import { HostedContext, type ContextHost } from './hosted-context.ts'
import { LogWriter } from './log-writer.ts'
import { readParts } from './log-reader.ts'
import { newRun } from './new-run.ts'
import { toLastWords, type Ending, type Outcome } from './last-words.ts'
import type { Run, StartOptions } from './run-engine.ts'
import type { Earlier, RunHost } from './run-host.ts'
import { RunProgress } from './run-progress.ts'
import { RunWaits, type WaitsHost } from './run-waits.ts'
import { logFault, logRun } from './log-run.ts'
import { RedactedWriter } from './redacted-writer.ts'
import { errorFromPart } from './run-error.ts'
import { toLoggable } from '../logging/to-loggable.ts'

/** A run under way in this process: numbers its parts, writes its log, and ends it once. */
export class LiveRun implements Run, ContextHost, WaitsHost {
  readonly runId: string
  readonly sessionId: string
  readonly replayed = false
  readonly runnable: Runnable
  readonly options: StartOptions
  readonly record: StoredRun
  readonly stores: Stores
  /** Whether another process can go on with it. */
  resumable = false
  /** Whether it was left for another process, or for later. */
  suspended = false
  readonly #host: RunHost
  readonly #writer: LogWriter
  readonly #progress: RunProgress
  readonly #earlier: Earlier | undefined
  // For a run with keys that must not be told.
  readonly #redacted: RedactedWriter | undefined
  #iterator: AsyncIterator<YieldedPart> | undefined
  #controller: AbortController | undefined
  #waits: RunWaits | undefined
  #ended = false
  // Why it ended, unless it ended well: the reason of the signal.
  #reason: unknown
  #outcome: Outcome | undefined
  // Whether the last part is in the log: nobody is told of the end before.
  #written = false
  #waiter: PromiseWithResolvers<RunResult> | undefined

  constructor(host: RunHost, runnable: Runnable, options: StartOptions, earlier?: Earlier) {
    this.#host = host
    this.runnable = runnable
    this.options = options
    this.record = earlier?.record ?? newRun(runnable, options)
    ;({ runId: this.runId, sessionId: this.sessionId } = this.record)
    this.stores = redactStores(host.stores, options.redact)
    this.#earlier = earlier
    this.#progress = earlier?.progress ?? new RunProgress(host.maxLogBytes)
    this.#writer = new LogWriter(this.stores.log, this.record, (err) => this.#storeFailed(err))
    if (options.redact) this.#redacted = new RedactedWriter(options.redact, this.#progress, this.#writer)
  }

  get resumed(): boolean {
    return this.#earlier !== undefined
  }

  get events(): EventBus {
    return this.#host.events
  }

  get log(): RunLog {
    return this.options.log ?? this.#host.log
  }

  // Made when it is first asked for: many runnables never do.
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Begins to execute, or goes on; what there is to write is written before this returns. */
  begin(input: RunInput): void {
    const { runId, sessionId, runnable } = this
    const { kind, name } = runnable
    try {
      if (this.#progress.seq === 0)
        this.#write({ type: 'start', runId, sessionId, kind, name }, { status: 'working', at: Date.now() })
      if (this.#earlier !== undefined) {
        this.#waitsOfRun.resume(this.#earlier.answered)
        this.#waitsOfRun.onRest((until) => this.#host.rests(this, until))
      }
    } catch (err) {
      this.end({ error: err })
      return
    }
    void this.#execute(input)
  }

  result(): Promise<RunResult> {
    this.#waiter ??= Promise.withResolvers()
    if (this.#written) this.#settle()
    return this.#waiter.promise
  }

  parts(after = 0, signal?: AbortSignal): AsyncIterable<NumberedPart> {
    return readParts(this.#host, this.runId, after, signal)
  }

  async cancel(): Promise<boolean> {
    const canceled = this.end({ type: 'finish', finishReason: 'canceled' })
    await this.#writer.idle()
    if (canceled && 'error' in this.#outcome!) throw this.#outcome.error
    return canceled
  }

  /** Ends the run as failed from outside. */
  async interrupt(error: unknown): Promise<void> {
    this.end({ error })
    await this.#writer.idle()
  }

  /** Leaves the run as it is, for another process to go on with. */
  async suspend(): Promise<void> {
    const reason = new RUN_ERR_SUSPENDED()
    this.suspended = !this.#ended
    this.#redacted?.flush()
    this.#leave(reason, reason)
    await this.#writer.idle()
  }

  /** Begins no step any more; calls back when those under way are recorded. */
  stopSteps(onIdle: () => void): void {
    this.#waitsOfRun.stopSteps(onIdle)
  }

  requestApproval(
    request: ApprovalRequest,
    source: readonly string[],
    signal?: AbortSignal
  ): Promise<ApprovalOutcome> {
    if (this.#ended) return Promise.reject(this.#why())
    return this.#waitsOfRun.request(request, source, signal)
  }

  /** Hands on an answer; resolves when it is in the log. */
  approvalAnswered(approvalId: string, outcome: ApprovalOutcome): Promise<void> | undefined {
    try {
      this.#waits?.answered(approvalId, outcome)
    } catch (err) {
      this.end({ error: err })
    }
    return this.#writer.idle()
  }

  step<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    return this.#waitsOfRun.step(key, this.#redacted?.flushingAfter(fn) ?? fn)
  }

  sleep(until: number, signal: AbortSignal): Promise<void> {
    return this.#waitsOfRun.sleep(until, signal)
  }

  get #waitsOfRun(): RunWaits {
    return (this.#waits ??= new RunWaits(this, this.#earlier))
  }

  write(part: Part, change: RunChange): void {
    this.#write(part, change)
    if (part.type === 'tool.approval.request') this.options.onApprovalRequest?.()
  }

  writing(): Promise<void> | undefined {
    return this.#writer.idle()
  }

  // Not before the store knows of it.
  async expire(approvalId: string): Promise<void> {
    await this.writing()
    this.#host.expireApproval(approvalId)
  }

  requireOpen(): void {
    if (this.#ended) throw this.#why()
  }

  /** Ends the run, once: true for the call that did. */
  end(how: Ending): boolean {
    if (this.#ended) return false
    this.#ended = true
    this.#redacted?.flush()
    const { entry, change, outcome, reason, fault } = toLastWords(this.#progress, how, this.options.redact)
    if (fault !== undefined) logFault(this, fault.err, fault.error)
    this.#outcome = outcome
    this.#reason = reason
    this.#writer.write(entry, change)
    this.#release()
    return true
  }

  async #execute(input: RunInput): Promise<void> {
    try {
      const stream = this.runnable.stream(input, new HostedContext(this))
      this.#iterator = stream[Symbol.asyncIterator]()
      for (;;) {
        const next = await this.#iterator.next()
        if (this.#ended) return
        if (next.done) break
        this.#take(next.value)
        if (this.#ended) return
        if (this.#writer.congested) await this.#writer.idle()
      }
      this.#iterator = undefined
      this.end({ type: 'finish', finishReason: 'stop' })
    } catch (err) {
      if (this.#ended) this.#tellLate(err)
      else this.end({ error: err })
    }
  }

  #take(part: YieldedPart): void {
    requirePart(part)
    if (part.type === 'start') return
    if (!isTerminalPart(part)) this.#write(wholePart(part))
    else if (part.type === 'finish') this.end(part)
    else if (part.type === 'error') this.end({ error: errorFromPart(part.error) })
  }

  #write(part: Part, change?: RunChange): void {
    if (this.#redacted === undefined) this.#writer.write(this.#progress.next(part), change)
    else this.#redacted.write(part, change)
  }

  // What the log says ends here.
  #storeFailed(err: unknown): void {
    logRun(this, 'error', 'the log of the run cannot be written', { err: toLoggable(err) })
    if (this.#ended) this.#outcome = { error: new RUN_ERR_STORE() }
    else this.#leave(err, new RUN_ERR_STORE())
    this.#host.lost(this, err)
  }

  // Without a last word.
  #leave(reason: unknown, error: Error): void {
    if (this.#ended) return
    this.#ended = true
    this.#outcome = { error }
    this.#reason = reason
    this.#release()
  }

  #release(): void {
    // First: who waits for an approval must not withdraw it when the signal aborts.
    this.#waits?.abandon(this.#why())
    if (this.#reason !== undefined) this.#controller?.abort(this.#reason)
    void this.#return()
    const writing = this.#writer.idle()
    if (writing === undefined) this.#close()
    else void writing.then(() => this.#close())
  }

  // A generator that waits for something sees this when its wait ends; nobody waits for that.
  async #return(): Promise<void> {
    try {
      await this.#iterator?.return?.()
    } catch (err) {
      this.#tellLate(err)
    }
  }

  // The last part is in the log, or cannot be: only now is the run no longer under way.
  #close(): void {
    this.#written = true
    this.#host.ended(this)
    this.#settle()
  }

  #settle(): void {
    if (this.#waiter === undefined) return
    const outcome = this.#outcome!
    if ('result' in outcome) this.#waiter.resolve(outcome.result)
    else this.#waiter.reject(outcome.error)
  }

  #why(): unknown {
    return this.#reason ?? new RUN_ERR_CANCELED()
  }

  #tellLate(err: unknown): void {
    logRun(this, 'debug', 'runnable failed after the end of its run', { err: toLoggable(err) })
  }
}
