const SECOND = 1_000

/** Counts the packets of one connection per second. */
export class EventBudget {
  readonly #perSecond: number
  #since = 0
  #taken = 0

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Counts a packet; false if it exceeds the limit. */
  take(now: number = performance.now()): boolean {
    if (now - this.#since >= SECOND) {
      this.#since = now
      this.#taken = 0
    }
    return ++this.#taken <= this.#perSecond
  }
}
