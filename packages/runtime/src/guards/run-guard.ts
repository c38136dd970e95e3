import { RUN_ERR_CANCELED } from '@svc/registry'
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

/**
 * Ends the waits of one run when its caller aborts or a time is over. It has the run's only abort listener, the
 * controller behind every model call, and the timers, each made once.
 */
export class RunGuard extends Guard {
  readonly #caller: AbortSignal
  readonly #timeout: Timeouts
  readonly #runTimer: NodeJS.Timeout
  #firstTimer: NodeJS.Timeout | undefined
  #nextTimer: NodeJS.Timeout | undefined
  // The timer of the token that is waited for: another one that fires means nothing.
  #awaited: NodeJS.Timeout | undefined
  readonly #onAbort = () => this.end(this.#caller.reason)

  constructor(caller: AbortSignal, timeout: Timeouts) {
    super()
    this.#caller = caller
    this.#timeout = timeout
    if (caller.aborted) this.#onAbort()
    else caller.addEventListener('abort', this.#onAbort, { once: true })
    // Last: nothing that throws here leaves it behind.
    this.#runTimer = setTimeout(() => this.end(new RUN_ERR_TIMEOUT(timeout.run)), timeout.run)
  }

  /** @throws why the run has to end, when it has to */
  check(): void {
    this.signal.throwIfAborted()
  }

  /** Waits so many milliseconds. @throws why the run has to end, when it has to before */
  async sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    try {
      await this.wait(promise)
    } finally {
      clearTimeout(timer)
    }
  }

  /** The wait for the first token of a model call begins. */
  expectFirstToken(): void {
    const { firstToken } = this.#timeout
    this.#awaited = this.#firstTimer =
      this.#firstTimer?.refresh() ??
      setTimeout(
        () => this.#expire(this.#firstTimer, new RUN_ERR_FIRST_TOKEN_TIMEOUT(firstToken)),
        firstToken
      )
  }

  /** The wait for one more token begins. */
  expectToken(): void {
    const { betweenTokens } = this.#timeout
    this.#awaited = this.#nextTimer =
      this.#nextTimer?.refresh() ??
      setTimeout(() => this.#expire(this.#nextTimer, new RUN_ERR_TOKEN_TIMEOUT(betweenTokens)), betweenTokens)
  }

  /** No token is waited for: the model is not asked, or the reader of the run takes its time. */
  expectNothing(): void {
    this.#awaited = undefined
  }

  /** The run is over: no timer and no listener is left, and what still waits is ended. */
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
