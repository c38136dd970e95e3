import type { RunInput } from '../contract/content-part.ts'
import { isTerminalPart, type NumberedPart, type Part, type YieldedPart } from '../contract/part.ts'
import type { ApprovalOutcome, ApprovalRequest, RunLog } from '../contract/run-context.ts'
import { RunResultBuilder, type RunResult } from '../contract/run-result.ts'
import type { Runnable } from '../contract/runnable.ts'
import { RUN_ERR_CANCELED, RUN_ERR_FAILED, RUN_ERR_LOG_LIMIT, RUN_ERR_STORE } from '../errors.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { RunChange, StoredRun } from '../stores/run-store.ts'
import type { LogEntry } from '../stores/stream-log.ts'
import type { Stores } from '../stores/stores.ts'
import { completeFinish } from './complete-finish.ts'
import { encodePart, requirePart, wholePart } from './encode-part.ts'
import { HostedContext, type ContextHost } from './hosted-context.ts'
import { LogWriter } from './log-writer.ts'
import { readParts } from './log-reader.ts'
import { newRun } from './new-run.ts'
import { RunApprovals } from './run-approvals.ts'
import { errorFromStored, toPartError, toStoredError } from './run-error.ts'
import type { Run, StartOptions } from './run-engine.ts'
import type { RunHost } from './run-host.ts'
import { StepJournal } from './step-journal.ts'
import { toLoggable } from './to-loggable.ts'

/** A run under way in this process: numbers its parts, writes its log, and ends it once. */
export class LiveRun implements Run, ContextHost {
  readonly runId: string
  readonly sessionId: string
  readonly runnable: Runnable
  readonly options: StartOptions
  readonly record: StoredRun
  readonly #host: RunHost
  readonly #writer: LogWriter
  readonly #result = new RunResultBuilder()
  readonly #startedAt = performance.now()
  #seq = 0
  #bytes = 0
  #iterator: AsyncIterator<YieldedPart> | undefined
  #controller: AbortController | undefined
  #approvals: RunApprovals | undefined
  #journal: StepJournal | undefined
  #ended = false
  // Why it ended, unless it ended well: the reason of the signal.
  #reason: unknown
  #outcome: { result: RunResult } | { error: unknown } | undefined
  // Whether the last part is in the log: nobody is told of the end before.
  #written = false
  #waiter: PromiseWithResolvers<RunResult> | undefined

  constructor(host: RunHost, runnable: Runnable, options: StartOptions, owner: string) {
    this.#host = host
    this.runnable = runnable
    this.options = options
    this.record = newRun(runnable, owner, options.sessionId)
    this.runId = this.record.runId
    this.sessionId = this.record.sessionId
    this.#writer = new LogWriter(host.stores.log, this.runId, 1, (err) => this.#storeFailed(err))
  }

  get stores(): Stores {
    return this.#host.stores
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

  /** Begins to execute; the first part is written before this returns. */
  begin(input: RunInput): void {
    const { runId, sessionId, runnable } = this
    const { kind, name } = runnable
    try {
      this.#write({ type: 'start', runId, sessionId, kind, name }, { status: 'working', at: Date.now() })
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
    return readParts(this.stores, this.runId, after, signal)
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

  requestApproval(request: ApprovalRequest, source: readonly string[]): Promise<ApprovalOutcome> {
    if (this.#ended) return Promise.reject(this.#why())
    this.#approvals ??= new RunApprovals({
      runId: this.runId,
      write: (part, change) => this.#write(part, change),
      // Not before the store knows of it.
      expire: (approvalId) => {
        const writing = this.#writer.idle()
        if (writing === undefined) this.#host.expireApproval(approvalId)
        else void writing.then(() => this.#host.expireApproval(approvalId))
      }
    })
    return this.#approvals.request(request, source)
  }

  /** Hands on an answer; resolves when it is in the log. */
  approvalAnswered(approvalId: string, outcome: ApprovalOutcome): Promise<void> | undefined {
    try {
      this.#approvals?.answered(approvalId, outcome)
    } catch (err) {
      this.end({ error: err })
    }
    return this.#writer.idle()
  }

  step<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    return (this.#journal ??= new StepJournal(this, this.stores.runs)).step(key, fn)
  }

  requireOpen(): void {
    if (this.#ended) throw this.#why()
  }

  /** Ends the run, once: true for the call that did. */
  end(how: Ending): boolean {
    if (this.#ended) return false
    this.#ended = true
    const { entry, change, reason } = this.#lastWords(how)
    this.#reason = reason
    this.#writer.write(entry, change)
    this.#leave()
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
    else if (part.type === 'error') this.end({ error: { ...part.error, statusCode: 500 } })
  }

  #write(part: Part, change?: RunChange): void {
    const entry = encodePart(this.#seq + 1, part)
    this.#bytes += entry.json.length
    if (this.#bytes > this.#host.maxLogBytes) throw new RUN_ERR_LOG_LIMIT(this.#host.maxLogBytes)
    this.#seq++
    // What a tool was given or gave may change hands after this: the result is made from the log's own copy.
    this.#result.add(part.type.startsWith('tool.') || part.type === 'structured' ? entry.part : part)
    this.#writer.write(entry, change)
  }

  // The last part, and the state that is written with it. What cannot be told in JSON makes the run fail.
  #lastWords(how: Ending): { entry: LogEntry; change: RunChange; reason: unknown } {
    if (!('type' in how)) return this.#failure(how.error)
    try {
      const finish = completeFinish(how, this.#result, this.#startedAt)
      const entry = encodePart(this.#seq + 1, finish)
      this.#result.add(how.structured ? entry.part : finish)
      const result = this.#result.build()
      this.#outcome = { result }
      const canceled = finish.finishReason === 'canceled'
      const status = canceled ? 'canceled' : 'completed'
      return {
        entry,
        change: { status, at: Date.now(), result },
        reason: canceled ? new RUN_ERR_CANCELED() : undefined
      }
    } catch (err) {
      return this.#failure(err)
    }
  }

  #failure(err: unknown): { entry: LogEntry; change: RunChange; reason: unknown } {
    const error = toStoredError(err)
    const { code, statusCode } = error
    if (statusCode >= 500) this.#tell('error', 'run failed', { err: toLoggable(err), code })
    else this.#tell('info', 'run failed', { code })
    this.#outcome = { error: errorFromStored(error) }
    const entry = encodePart(this.#seq + 1, { type: 'error', error: toPartError(error) })
    return { entry, change: { status: 'failed', at: Date.now(), error }, reason: err ?? new RUN_ERR_FAILED() }
  }

  // What the log says ends here.
  #storeFailed(err: unknown): void {
    this.#tell('error', 'the log of the run cannot be written', { err: toLoggable(err) })
    this.#outcome = { error: new RUN_ERR_STORE() }
    if (!this.#ended) {
      this.#ended = true
      this.#reason = err
      this.#leave()
    }
    this.#host.lost(this, err)
  }

  #leave(): void {
    if (this.#reason !== undefined) this.#controller?.abort(this.#reason)
    this.#approvals?.abandon(this.#why())
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
    this.#tell('debug', 'runnable failed after the end of its run', { err: toLoggable(err) })
  }

  // A log that throws keeps no run from its end.
  #tell(level: 'debug' | 'info' | 'error', message: string, details: object): void {
    try {
      this.log[level]({ ...details, runId: this.runId }, message)
    } catch {}
  }
}

/** How a run ends: with what its `finish` says, or with an error. */
export type Ending = Extract<YieldedPart, { type: 'finish' }> | { error: unknown }
