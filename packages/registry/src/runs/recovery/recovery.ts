/** Recovers what a crash left: a call while one is under way joins it, and it counts as under way until it has succeeded. */
export class Recovery {
  readonly #recover: () => Promise<number>
  #isUnderWay = false
  #current: Promise<number> | undefined

  constructor(recover: () => Promise<number>) {
    this.#recover = recover
  }

  get isUnderWay(): boolean {
    return this.#isUnderWay
  }

  /** Gives how many runs ended. @throws what the store throws */
  async run(): Promise<number> {
    if (this.#current !== undefined) return this.#current
    this.#isUnderWay = true
    try {
      const ended = await (this.#current = this.#recover())
      this.#isUnderWay = false
      return ended
    } finally {
      this.#current = undefined
    }
  }
}
