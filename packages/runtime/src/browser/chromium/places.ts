import { RUN_ERR_BROWSER_BUSY } from '../../errors.ts'

interface Waiter {
  readonly take: () => void
}

/** A number of places, given away in the order in which they were asked for. */
export class Places {
  readonly #waiters = new Set<Waiter>()
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Takes a place. @throws RUN_ERR_BROWSER_BUSY after `timeout` milliseconds, or the reason of the signal */
  async take(timeout: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter = { take: resolve }
    const onAbort = () => reject(signal.reason)
    const timer = setTimeout(() => reject(new RUN_ERR_BROWSER_BUSY()), timeout)
    this.#waiters.add(waiter)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      await promise
    } finally {
      this.#waiters.delete(waiter)
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
  }

  /** Gives a place to the one that has waited longest. */
  give(): void {
    const [next] = this.#waiters
    if (next === undefined) this.#free++
    else {
      this.#waiters.delete(next)
      next.take()
    }
  }
}
