import { codeOf, toPartError, toStoredError, ZERO_USAGE, type FinishReason, type Usage } from '@svc/registry'
import type { RunEvents } from './run-events.ts'

/** Tells the bus that a run starts, and once it is over, how it ended. */
export class RunReport {
  /** What it has used so far. */
  usage: Usage = ZERO_USAGE
  /** Why it ended; `canceled` until it has. */
  finishReason: FinishReason = 'canceled'
  readonly #events: RunEvents
  readonly #sessionId: string
  readonly #startedAt = performance.now()
  // Whatever was thrown, which may be undefined.
  #failure: { readonly err: unknown } | undefined

  constructor(events: RunEvents, sessionId: string) {
    this.#events = events
    this.#sessionId = sessionId
    events.emit('run.start', () => ({ sessionId }))
  }

  /** The run failed; a cancel is no failure. */
  fail(err: unknown): void {
    if (codeOf(err) !== 'RUN_ERR_CANCELED') this.#failure = { err }
  }

  /** The run is over. */
  end(): void {
    const sessionId = this.#sessionId
    const { usage, finishReason } = this
    const durationMs = performance.now() - this.#startedAt
    const failure = this.#failure
    if (failure === undefined)
      this.#events.emit('run.complete', () => ({ sessionId, finishReason, usage, durationMs }))
    else
      this.#events.emit('run.error', () => ({
        sessionId,
        error: toPartError(toStoredError(failure.err)),
        durationMs
      }))
  }
}
