import {
  callNextTurn,
  codeOf,
  toLoggable,
  toPartError,
  toStoredError,
  type RunContext,
  type RunLog,
  type Runnable,
  type RunResult,
  type StoredError,
  type TextInIncrements,
  type Usage,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_CANCELED } from '@svc/contract/errors'
import { emitEvent, isHeard, type EventOrigin } from '../events/event-bus.ts'
import { originOf } from '../runnables/define-runnable.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'
import type { Outcome } from './log/part-writer.ts'

/** Delivers the outcome of a run to its callers in the turn after the last part is in the log or cannot be written. */
export class Settlement {
  outcome: Outcome | undefined
  /** Emits the end of the run; undefined if it never began. */
  report: RunReport | undefined
  /** Reads the result if another process gives it; then `outcome` only says that the run has left this one. */
  elsewhere: (() => Promise<RunResult>) | undefined
  #isDue = false
  #waiter: PromiseWithResolvers<RunResult> | undefined

  /** Resolves with the result, or rejects with the error, once it is due. */
  get result(): Promise<RunResult> {
    if (this.#waiter === undefined) {
      this.#waiter = Promise.withResolvers()
      if (this.#isDue) this.#settle(this.#waiter)
    }
    return this.#waiter.promise
  }

  /** The log is final: delivers the outcome. */
  due(): void {
    this.#isDue = true
    this.report?.end(this.outcome!)
    if (this.#waiter !== undefined) this.#settle(this.#waiter)
  }

  #settle({ resolve, reject }: PromiseWithResolvers<RunResult>): void {
    const outcome = this.outcome!
    if (this.elsewhere !== undefined) return resolve(this.elsewhere())
    callNextTurn(() => ('result' in outcome ? resolve(outcome.result) : reject(outcome.error)))
  }
}

/** Creates its abort signal on first access; many runnables never use it. */
export class LateSignal {
  /** The reason to abort with; `abort` does nothing without one. */
  reason: unknown
  #controller: AbortController | undefined
  #listeners: Set<(reason: unknown) => void> | undefined

  /** Why the run has ended. */
  get why(): unknown {
    return this.reason ?? new RUN_ERR_CANCELED()
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      this.abort()
    }
    return this.#controller.signal
  }

  /** As an abort listener, but needs no signal; called at once if the reason is known. */
  onAbort(listener: (reason: unknown) => void): () => void {
    if (this.reason !== undefined) listener(this.reason)
    else (this.#listeners ??= new Set()).add(listener)
    return () => void this.#listeners?.delete(listener)
  }

  abort(): void {
    const { reason } = this
    if (reason === undefined) return
    const listeners = this.#listeners ?? []
    this.#listeners = undefined
    for (const listener of listeners) listener(reason)
    this.#controller?.abort(reason)
  }
}

/** A run and its log. */
interface Logged {
  readonly runId: string
  readonly log: RunLog
}

/** Logs a line about a run. A log that throws must not stop the run. */
export function logRun(
  run: Logged,
  level: 'debug' | 'info' | 'error',
  message: string,
  details: object
): void {
  try {
    run.log[level]({ ...details, runId: run.runId }, message)
  } catch {}
}

/** Logs why a run failed; with the stack if the fault is the service's. */
export function logFault(run: Logged, err: unknown, { code, statusCode }: StoredError): void {
  if (isReported(err)) logRun(run, 'info', 'run failed', { code })
  else if (statusCode >= 500) logRun(run, 'error', 'run failed', { err: toLoggable(err), code })
  else logRun(run, 'info', 'run failed', { code })
}

/** Logs that the log of a run is incomplete; the watch logs the store's failure itself. */
export function logLost(run: Logged, err: unknown): void {
  const message = 'the log of the run cannot be written'
  if (isReported(err)) logRun(run, 'info', message, {})
  else logRun(run, 'error', message, { err: toLoggable(err) })
}

/** Logs what a runnable throws after the end of its run. */
export function logLate(run: Logged, err: unknown): void {
  logRun(run, 'debug', 'runnable failed after the end of its run', { err: toLoggable(err) })
}

type Ran = Pick<Runnable, 'kind' | 'name'>
type Origin = EventOrigin & Pick<RunContext, 'sessionId'>

/** True if the creator of the context emits the `run.*` events of a runnable. */
export function hasReport(context: Pick<RunContext, 'reported'> | undefined, runnable: object): boolean {
  const reported = context?.reported
  return reported === runnable || (reported !== undefined && originOf(reported) === originOf(runnable))
}

/** How a run ended. */
export type RunEnd =
  | { readonly result: Pick<RunResult, 'finishReason' | 'usage'> }
  | { readonly error: unknown }

/** Emits the `run.*` events of one execution of a runnable: its start, the chunks of its answer, and its end, once. */
export class RunReport {
  readonly #origin: Origin
  readonly #ran: Ran
  readonly #startedAt: number
  // Redacts the chunks of the answer, if they may contain a caller's key.
  #answer: TextInIncrements | undefined
  #ended = false

  /**
   * Emits the start.
   * @param begunAt when the run began, in milliseconds since the epoch, if its start was emitted before
   */
  constructor(origin: Origin, ran: Ran, begunAt?: number | false) {
    this.#origin = origin
    this.#ran = ran
    const isBegun = typeof begunAt === 'number'
    this.#startedAt = performance.now() - (isBegun ? Date.now() - begunAt : 0)
    if (!isBegun && isHeard(origin.events, 'run.start')) this.#begin()
  }

  /** Takes a yielded part. A possible beginning of a key is held back until the next one. */
  take(part: YieldedPart): void {
    if (part.type !== 'text') this.#flush()
    else if (!part.source?.length && isHeard(this.#origin.events, 'run.stream.chunk')) this.#chunk(part.text)
  }

  end(how: RunEnd): void {
    if (this.#ended) return
    this.#ended = true
    this.#flush()
    const { events } = this.#origin
    if ('error' in how) {
      if (isHeard(events, 'run.error')) this.#failed(how.error)
    } else if (isHeard(events, 'run.complete')) this.#completed(how.result)
  }

  /** Ends with a thrown error; a cancel is not a failure. */
  fail(err: unknown, usage: Usage): void {
    const isCancel = codeOf(err) === 'RUN_ERR_CANCELED'
    this.end(isCancel ? { result: { finishReason: 'canceled', usage } } : { error: err })
  }

  #begin(): void {
    const { sessionId } = this.#origin
    emitEvent(this.#origin, this.#ran, 'run.start', () => ({ sessionId }))
  }

  #completed({ finishReason, usage }: Pick<RunResult, 'finishReason' | 'usage'>): void {
    const { sessionId } = this.#origin
    const durationMs = this.#durationMs
    emitEvent(this.#origin, this.#ran, 'run.complete', () => ({ sessionId, finishReason, usage, durationMs }))
  }

  #failed(thrown: unknown): void {
    const { sessionId } = this.#origin
    const durationMs = this.#durationMs
    const error = () => toPartError(toStoredError(thrown))
    emitEvent(this.#origin, this.#ran, 'run.error', () => ({ sessionId, error: error(), durationMs }))
  }

  get #durationMs(): number {
    return performance.now() - this.#startedAt
  }

  #chunk(text: string): void {
    this.#answer ??= this.#origin.redact?.text?.()
    const safe = this.#answer?.add(text) ?? text
    if (safe !== '') emitEvent(this.#origin, this.#ran, 'run.stream.chunk', () => ({ text: safe }))
  }

  #flush(): void {
    const rest = this.#answer?.flush()
    if (rest) emitEvent(this.#origin, this.#ran, 'run.stream.chunk', () => ({ text: rest }))
  }
}
