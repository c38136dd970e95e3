import { RUN_ERR_TOOL_TIMEOUT } from '../errors.ts'
import type { Deadline, RunGuard } from '../guards/guard.ts'

/** What ends a call before its time is out. */
interface CallLimits {
  readonly guard: RunGuard
  readonly signal?: AbortSignal
}

/** The time of a call in milliseconds: how long it has taken, and when it is over. That stands still while the call waits for someone. */
export class CallTime implements Deadline {
  readonly #startedAt = performance.now()
  readonly #timeout: number
  dueAt: number
  #guard: RunGuard | undefined
  #onDue: (() => void) | undefined
  #waits = 0
  #left = 0

  constructor(timeout: number) {
    this.#timeout = timeout
    this.dueAt = this.#startedAt + timeout
  }

  get duration(): number {
    return Math.round((performance.now() - this.#startedAt) * 1000) / 1000
  }

  /**
   * Settles like the work of a tool, unless the run ends, the signal aborts or the time is out: then it rejects, and the result is
   * dropped.
   * @param onStop called with the reason before it rejects
   * @param toFailure makes the error that it rejects with
   */
  async limit(
    work: PromiseLike<unknown>,
    { guard, signal }: CallLimits,
    onStop: (reason: unknown) => void,
    toFailure: (err: unknown) => unknown
  ): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const stop = (reason: unknown) => {
      reject(reason)
      onStop(reason)
    }
    const off = guard.onEnd(stop)
    const onAbort = () => stop(signal?.reason)
    signal?.addEventListener('abort', onAbort)
    this.#watch(guard, () => stop(new RUN_ERR_TOOL_TIMEOUT(this.#timeout)))
    try {
      work.then(resolve, reject)
      return await promise
    } catch (err) {
      // Rejected too if the tool ended its run before it threw.
      promise.catch(() => {})
      throw toFailure(err)
    } finally {
      off()
      signal?.removeEventListener('abort', onAbort)
      guard.unwatch(this)
      this.#guard = undefined
    }
  }

  #watch(guard: RunGuard, onDue: () => void): void {
    this.#guard = guard
    this.#onDue = onDue
    guard.watch(this)
  }

  expire(): void {
    this.#onDue?.()
  }

  /** Settles like `wait()`; meanwhile the time is not out. */
  async pause<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#waits++ === 0) this.#left = this.dueAt - performance.now()
    this.dueAt = Infinity
    try {
      return await wait()
    } finally {
      if (--this.#waits === 0) {
        this.dueAt = performance.now() + this.#left
        this.#guard?.watch(this)
      }
    }
  }
}
