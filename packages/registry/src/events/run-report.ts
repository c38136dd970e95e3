import {
  codeOf,
  toPartError,
  toStoredError,
  type RunContext,
  type Runnable,
  type RunResult,
  type TextInIncrements,
  type Usage,
  type YieldedPart
} from '@svc/contract'
import { originOf } from '../runnables/define-runnable.ts'
import { emitEvent, isHeard, type EventOrigin } from './event-bus.ts'

type Ran = Pick<Runnable, 'kind' | 'name'>
type Origin = EventOrigin & Pick<RunContext, 'sessionId'>

/** True if the creator of the context emits the `run.*` events of a runnable. */
export function hasReport(context: Pick<RunContext, 'reported'> | undefined, runnable: object): boolean {
  return context?.reported !== undefined && originOf(context.reported) === originOf(runnable)
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
    if (!isBegun) emitEvent(origin, ran, 'run.start', () => ({ sessionId: origin.sessionId }))
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
    const { sessionId } = this.#origin
    const durationMs = performance.now() - this.#startedAt
    if ('error' in how) {
      const error = () => toPartError(toStoredError(how.error))
      emitEvent(this.#origin, this.#ran, 'run.error', () => ({ sessionId, error: error(), durationMs }))
    } else {
      const { finishReason, usage } = how.result
      emitEvent(this.#origin, this.#ran, 'run.complete', () => ({
        sessionId,
        finishReason,
        usage,
        durationMs
      }))
    }
  }

  /** Ends with a thrown error; a cancel is not a failure. */
  fail(err: unknown, usage: Usage): void {
    const isCancel = codeOf(err) === 'RUN_ERR_CANCELED'
    this.end(isCancel ? { result: { finishReason: 'canceled', usage } } : { error: err })
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
