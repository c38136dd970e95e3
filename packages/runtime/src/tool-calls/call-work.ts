import type { Journal } from '@svc/contract'

/** A tool call as work in progress: until it ends, except while it waits for someone. */
export class CallWork {
  readonly #journal: Journal
  #end: (() => void) | undefined
  #waits = 0
  #ended = false

  constructor(journal: Journal) {
    this.#journal = journal
    this.#end = journal.work()
  }

  /** Settles like `wait()`; meanwhile the call is not in progress. */
  async rest<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#waits++ === 0) this.#end?.()
    try {
      return await wait()
    } finally {
      if (--this.#waits === 0 && !this.#ended) this.#end = this.#journal.work()
    }
  }

  end(): void {
    this.#ended = true
    this.#end?.()
  }
}
