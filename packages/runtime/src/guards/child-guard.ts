import { setMaxListeners } from 'node:events'
import { Guard } from './guard.ts'

/** Ends the waits of one member or step when its parent ends, or its time is over. */
export class ChildGuard extends Guard {
  readonly #parent: AbortSignal
  readonly #timer: NodeJS.Timeout | undefined
  readonly #onAbort = () => this.end(this.#parent.reason)

  /** `timeout`: milliseconds, and why the child ends after them. */
  constructor(parent: AbortSignal, timeout?: { ms: number; reason: Error }) {
    super()
    this.#parent = parent
    // As many children as there are at once listen to it.
    setMaxListeners(0, parent)
    if (parent.aborted) this.#onAbort()
    else parent.addEventListener('abort', this.#onAbort, { once: true })
    // Last: nothing that throws here leaves it behind.
    if (timeout !== undefined) this.#timer = setTimeout(() => this.end(timeout.reason), timeout.ms)
  }

  /** The child is over: no timer and no listener is left. */
  close(): void {
    clearTimeout(this.#timer)
    this.#parent.removeEventListener('abort', this.#onAbort)
  }
}
