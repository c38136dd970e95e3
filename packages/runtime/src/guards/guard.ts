/** Ends the waits of what has to end before they do. */
export class Guard {
  readonly #controller = new AbortController()
  readonly #breakers = new Set<(reason: unknown) => void>()

  /** Aborts when it has to end. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Whether anything waits. */
  protected get isWaiting(): boolean {
    return this.#breakers.size > 0
  }

  /** Calls `breaker` with the reason when it has to end, unless the returned function is called before. */
  onEnd(breaker: (reason: unknown) => void): () => void {
    const { signal } = this.#controller
    if (signal.aborted) breaker(signal.reason)
    else this.#breakers.add(breaker)
    return () => void this.#breakers.delete(breaker)
  }

  /** Settles as `work` does, or rejects when it has to end before. */
  wait<T>(work: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const off = this.onEnd(reject)
      work.then(
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

  /** Ends it now. */
  end(reason: unknown): void {
    this.#controller.abort(reason)
    for (const breaker of [...this.#breakers]) breaker(reason)
    this.#breakers.clear()
  }
}

/** Settles as the work does, or rejects with the signal's reason when that aborts before; then the work does not begin. */
export async function unlessAborted<T>(signal: AbortSignal, work: () => T): Promise<Awaited<T>> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason as Error)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([work(), promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
