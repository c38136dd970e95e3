/** A time-out that stands still while something else is waited for. */
export class PausableTimeout {
  readonly #onTimeout: () => void
  #timer: NodeJS.Timeout | undefined
  #left: number
  #since = 0
  #pauses = 0
  #ended = false

  /** Starts at once; `ms` is in milliseconds. */
  constructor(ms: number, onTimeout: () => void) {
    this.#left = ms
    this.#onTimeout = onTimeout
    this.#start()
  }

  /** Settles like `wait()`; meanwhile the time does not count. */
  async pause<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#pauses++ === 0) {
      clearTimeout(this.#timer)
      this.#left = Math.max(0, this.#left - (performance.now() - this.#since))
    }
    try {
      return await wait()
    } finally {
      if (--this.#pauses === 0 && !this.#ended) this.#start()
    }
  }

  /** Ends the time-out for good. */
  clear(): void {
    this.#ended = true
    clearTimeout(this.#timer)
  }

  #start(): void {
    this.#since = performance.now()
    this.#timer = setTimeout(this.#onTimeout, this.#left)
  }
}
