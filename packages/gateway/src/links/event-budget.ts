const SECOND = 1_000

/** The packets that one connection may send. */
export class EventBudget {
  readonly #perSecond: number
  #since = 0
  #taken = 0

  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Counts a packet; false where it is one too many in its second. */
  take(now: number = performance.now()): boolean {
    if (now - this.#since >= SECOND) {
      this.#since = now
      this.#taken = 0
    }
    return ++this.#taken <= this.#perSecond
  }
}
