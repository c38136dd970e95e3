/** An abort signal that is made when it is first asked for: many runnables never do. */
export class LateSignal {
  /** Why it aborts; without a reason it never does. */
  reason: unknown
  #controller: AbortController | undefined

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      this.abort()
    }
    return this.#controller.signal
  }

  abort(): void {
    if (this.reason !== undefined) this.#controller?.abort(this.reason)
  }
}
