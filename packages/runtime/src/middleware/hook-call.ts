import { isPromise, type Awaitable, type RunContext } from '@svc/contract'
import type { Guard } from '../guards/guard.ts'

// Milliseconds between two looks at a hook that waits for people.
const WAIT_PAUSE = 250

/** One call of a hook: it ends with its run, or when its time is out. */
export class HookCall {
  readonly #guard: Guard
  readonly #context: Pick<RunContext, 'waitedMs'>
  readonly #timeout: number
  #controller: AbortController | undefined
  // Set once the call must end before the hook has.
  #stopped: { readonly reason: unknown } | undefined

  /** @param timeout milliseconds, without those in which the run waits for people */
  constructor(guard: Guard, context: Pick<RunContext, 'waitedMs'>, timeout: number) {
    this.#guard = guard
    this.#context = context
    this.#timeout = timeout
  }

  /** Aborts when the hook has to end. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#stopped !== undefined) this.#controller.abort(this.#stopped.reason)
    return this.#controller.signal
  }

  /** Settles like `ask()`, whose promise is left behind if the call must end first. @throws the error of the hook, why the call must end */
  settle<T>(ask: () => Awaitable<T>): Awaitable<T> {
    const work = ask()
    return isPromise(work) ? this.#limit(work) : work
  }

  async #limit<T>(work: PromiseLike<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const stop = (reason: unknown) => {
      this.#stopped ??= { reason }
      this.#controller?.abort(reason)
      reject(reason)
    }
    const startedAt = performance.now()
    const waitedBefore = this.#context.waitedMs
    let waited = waitedBefore
    const look = () => {
      const pause = this.#context.waitedMs > waited ? WAIT_PAUSE : 0
      waited = this.#context.waitedMs
      const left = this.#timeout + waited - waitedBefore - (performance.now() - startedAt)
      // Timers fire up to a millisecond early.
      if (left < 1) stop(new Error(`the hook took longer than ${this.#timeout} ms`))
      else timer = setTimeout(look, Math.max(left, pause))
    }
    let timer = setTimeout(look, this.#timeout)
    const off = this.#guard.onEnd(stop)
    try {
      work.then(resolve, reject)
      return await promise
    } finally {
      off()
      clearTimeout(timer)
    }
  }
}
