import { Type, type TSchema } from '@sinclair/typebox'
import { RUN_ERR_CANCELED } from '@svc/registry'
import { millisecondsSchema } from '@svc/registry/kit'
import { Guard } from './guard.ts'
import { RUN_ERR_FIRST_TOKEN_TIMEOUT, RUN_ERR_TIMEOUT, RUN_ERR_TOKEN_TIMEOUT } from '../errors.ts'

/** Time-outs of a run, in milliseconds. */
export interface Timeouts {
  /** Until the first token of a model call. */
  readonly firstToken: number
  /** From one token to the next. */
  readonly betweenTokens: number
  /** The whole run, waits for approvals included. */
  readonly run: number
}

export const TimeoutsSchema = Type.Object(
  {
    firstToken: Type.Optional(millisecondsSchema('Until the first token of a model call; default 60,000')),
    betweenTokens: Type.Optional(millisecondsSchema('From one token to the next; default 60,000')),
    run: Type.Optional(millisecondsSchema('The whole run; default 600,000'))
  } satisfies Record<keyof Timeouts, TSchema>,
  { additionalProperties: false }
)

export const TIMEOUT_DEFAULTS: Timeouts = { firstToken: 60_000, betweenTokens: 60_000, run: 600_000 }

/**
 * Ends the waits of one run when its caller aborts or a time-out fires. Owns the run's only abort listener, the
 * controller behind every model call, and the timers, each created once.
 */
export class RunGuard extends Guard {
  readonly #caller: AbortSignal
  readonly #timeout: Timeouts
  readonly #runTimer: NodeJS.Timeout
  #firstTimer: NodeJS.Timeout | undefined
  #nextTimer: NodeJS.Timeout | undefined
  // The timer of the awaited token; any other timer that fires is stale.
  #awaited: NodeJS.Timeout | undefined
  readonly #onAbort = () => this.end(this.#caller.reason)

  constructor(caller: AbortSignal, timeout: Timeouts) {
    super()
    this.#caller = caller
    this.#timeout = timeout
    if (caller.aborted) this.#onAbort()
    else caller.addEventListener('abort', this.#onAbort, { once: true })
    // Last, so that an error above cannot leak the timer.
    this.#runTimer = setTimeout(() => this.end(new RUN_ERR_TIMEOUT(timeout.run)), timeout.run)
  }

  /** @throws the reason why the run must end, if it must */
  check(): void {
    this.signal.throwIfAborted()
  }

  /** Waits for `ms` milliseconds. @throws the reason why the run must end, if that comes first */
  async sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    try {
      await this.wait(promise)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Starts the time-out for the first token of a model call. */
  expectFirstToken(): void {
    const { firstToken } = this.#timeout
    this.#awaited = this.#firstTimer =
      this.#firstTimer?.refresh() ??
      setTimeout(
        () => this.#expire(this.#firstTimer, new RUN_ERR_FIRST_TOKEN_TIMEOUT(firstToken)),
        firstToken
      )
  }

  /** Starts the time-out for the next token. */
  expectToken(): void {
    const { betweenTokens } = this.#timeout
    this.#awaited = this.#nextTimer =
      this.#nextTimer?.refresh() ??
      setTimeout(() => this.#expire(this.#nextTimer, new RUN_ERR_TOKEN_TIMEOUT(betweenTokens)), betweenTokens)
  }

  /** Stops waiting for a token: no model call is pending, or the run's reader is slow. */
  expectNothing(): void {
    this.#awaited = undefined
  }

  /** Ends pending waits, and removes the timers and the listener once the run has ended. */
  close(): void {
    if (this.isWaiting) this.end(new RUN_ERR_CANCELED())
    this.#caller.removeEventListener('abort', this.#onAbort)
    clearTimeout(this.#runTimer)
    clearTimeout(this.#firstTimer)
    clearTimeout(this.#nextTimer)
  }

  #expire(timer: NodeJS.Timeout | undefined, reason: Error): void {
    if (timer === this.#awaited) this.end(reason)
  }
}
