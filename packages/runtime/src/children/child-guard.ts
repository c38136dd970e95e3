import { setMaxListeners } from 'node:events'

/** Ends the waits of one member or step when its parent ends, or its time is over. */
export class ChildGuard {
  readonly #controller = new AbortController()
  readonly #parent: AbortSignal
  readonly #timer: NodeJS.Timeout | undefined
  readonly #breakers = new Set<(reason: unknown) => void>()
  readonly #onAbort = () => this.end(this.#parent.reason)

  /** `timeout`: milliseconds, and why the child ends after them. */
  constructor(parent: AbortSignal, timeout?: { ms: number; reason: Error }) {
    this.#parent = parent
    // As many children as there are at once listen to it.
    setMaxListeners(0, parent)
    if (timeout !== undefined) this.#timer = setTimeout(() => this.end(timeout.reason), timeout.ms)
    if (parent.aborted) this.#onAbort()
    else parent.addEventListener('abort', this.#onAbort, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Settles as `work` does, or rejects when the child has to end before. */
  wait<T>(work: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const { signal } = this.#controller
      if (signal.aborted) {
        work.then(undefined, () => {})
        return reject(signal.reason as Error)
      }
      this.#breakers.add(reject)
      work.then(
        (value) => {
          this.#breakers.delete(reject)
          resolve(value)
        },
        (err: unknown) => {
          this.#breakers.delete(reject)
          reject(err)
        }
      )
    })
  }

  /** Ends the child now. */
  end(reason: unknown): void {
    this.#controller.abort(reason)
    for (const breaker of [...this.#breakers]) breaker(reason)
    this.#breakers.clear()
  }

  /** The child is over: no timer and no listener is left. */
  close(): void {
    clearTimeout(this.#timer)
    this.#parent.removeEventListener('abort', this.#onAbort)
  }
}
