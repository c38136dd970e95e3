/** Runs recovery: a call during one joins it, and recovery counts as in progress until it has succeeded. */
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

  /** Returns how many runs ended. @throws what the store throws */
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
