/** Runs recovery: a call during one joins it, and recovery counts as in progress until it has succeeded. */
export class Recovery {
  readonly #recover: () => Promise<number>
  #isInProgress = false
  #current: Promise<number> | undefined

  constructor(recover: () => Promise<number>) {
    this.#recover = recover
  }

  get isInProgress(): boolean {
    return this.#isInProgress
  }

  /** Returns how many runs ended. @throws what the store throws */
  async run(): Promise<number> {
    if (this.#current !== undefined) return this.#current
    this.#isInProgress = true
    try {
      const ended = await (this.#current = this.#recover())
      this.#isInProgress = false
      return ended
    } finally {
      this.#current = undefined
    }
  }
}
