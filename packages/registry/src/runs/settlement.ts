import type { RunResult } from '../contract/run-result.ts'
import type { RunReport } from '../events/run-report.ts'
import type { Outcome } from './final-state.ts'

/** What comes of a run, for whoever waits for it: nobody is told before the last part is in the log, or cannot be. */
export class Settlement {
  outcome: Outcome | undefined
  /** Emits that the run ended; there is none when it never began. */
  report: RunReport | undefined
  #isDue = false
  #waiter: PromiseWithResolvers<RunResult> | undefined

  /** Resolves with the result, or rejects with the error, when it is due. */
  get result(): Promise<RunResult> {
    this.#waiter ??= Promise.withResolvers()
    if (this.#isDue) this.#settle()
    return this.#waiter.promise
  }

  /** The log is as it will be. */
  due(): void {
    this.#isDue = true
    this.report?.end(this.outcome!)
    this.#settle()
  }

  #settle(): void {
    if (this.#waiter === undefined) return
    const outcome = this.outcome!
    if ('result' in outcome) this.#waiter.resolve(outcome.result)
    else this.#waiter.reject(outcome.error)
  }
}

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
