const SECOND = 1_000

/** Counts packets or bytes of one connection per window of time. */
export class EventBudget {
  readonly #most: number
  readonly #window: number
  #since = 0
  #taken = 0

  /** @param window milliseconds for which the limit holds; default a second */
  constructor(most: number, window = SECOND) {
    this.#most = most
    this.#window = window
  }

  /** Counts a packet, or some bytes; false if they exceed the limit. */
  take(amount = 1, now: number = performance.now()): boolean {
    if (now - this.#since >= this.#window) {
      this.#since = now
      this.#taken = 0
    }
    this.#taken += amount
    return this.#taken <= this.#most
  }
}
