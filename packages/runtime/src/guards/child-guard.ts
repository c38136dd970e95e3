import { setMaxListeners } from 'node:events'
import { Guard } from './guard.ts'

/** Ends the waits of one member or step when its parent ends or its time-out fires. */
export class ChildGuard extends Guard {
  readonly #parent: AbortSignal
  readonly #timer: NodeJS.Timeout | undefined
  readonly #onAbort = () => this.end(this.#parent.reason)

  /** `timeout.ms` is in milliseconds; `timeout.reason` is the error that ends the child. */
  constructor(parent: AbortSignal, timeout?: { ms: number; reason: Error }) {
    super()
    this.#parent = parent
    // Every parallel child adds a listener.
    setMaxListeners(0, parent)
    if (parent.aborted) this.#onAbort()
    else parent.addEventListener('abort', this.#onAbort, { once: true })
    // Last, so that an error above cannot leak the timer.
    if (timeout !== undefined) this.#timer = setTimeout(() => this.end(timeout.reason), timeout.ms)
  }

  /** Removes the timer and the listener once the child has ended. */
  close(): void {
    clearTimeout(this.#timer)
    this.#parent.removeEventListener('abort', this.#onAbort)
  }
}
