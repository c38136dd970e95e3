const SECOND = 1_000

/** Counts packets or bytes of one connection per second. */
export class EventBudget {
  readonly #perSecond: number
  #since = 0
  #taken = 0

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Counts a packet, or some bytes; false if they exceed the limit. */
  take(amount = 1, now: number = performance.now()): boolean {
    if (now - this.#since >= SECOND) {
      this.#since = now
      this.#taken = 0
    }
    this.#taken += amount
    return this.#taken <= this.#perSecond
  }
}
