export { unlessAborted } from '@svc/contract'

/** Lets pending waits fail as soon as the work they belong to must end. */
export class Guard {
  readonly #controller = new AbortController()
  // Most of the time one wait is pending, or none.
  #breakers: Set<(reason: unknown) => void> | undefined
  #isOver = false

  /** Aborts when the work must end. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** True while any wait is pending. */
  protected get isWaiting(): boolean {
    return this.#breakers !== undefined && this.#breakers.size > 0
  }

  /** @throws the reason why the work must end, if it must */
  check(): void {
    if (this.#isOver) this.signal.throwIfAborted()
  }

  /** Calls `breaker` with the reason when the work must end; the returned function unsubscribes it. */
  onEnd(breaker: (reason: unknown) => void): () => void {
    if (this.#isOver) breaker(this.signal.reason)
    else (this.#breakers ??= new Set()).add(breaker)
    return () => void this.#breakers?.delete(breaker)
  }

  /** Settles like `promise`, or rejects first if the work must end. */
  wait<T>(promise: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const off = this.onEnd(reject)
      promise.then(
        (value) => {
          off()
          resolve(value)
        },
        (err: unknown) => {
          off()
          reject(err)
        }
      )
    })
  }

  /** Waits for `ms` milliseconds. @throws the reason why the work must end, if that comes first */
  async sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    try {
      await this.wait(promise)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the work, and every pending wait with `reason`. */
  end(reason: unknown): void {
    this.#isOver = true
    this.#controller.abort(reason)
    for (const breaker of [...(this.#breakers ?? [])]) breaker(reason)
    this.#breakers?.clear()
  }
}
