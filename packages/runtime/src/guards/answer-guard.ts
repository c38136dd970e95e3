import { Guard } from './guard.ts'
import type { RunGuard } from './run-guard.ts'

/** What a model call needs of the guard of its run. */
export type ModelGuard = Guard & Pick<RunGuard, 'expectFirstToken' | 'expectToken' | 'expectNothing'>

/** Ends the model call of one answer with its run, or before that when the user interrupts the answer. */
export class AnswerGuard extends Guard implements ModelGuard {
  readonly #run: RunGuard
  readonly #interrupted: AbortSignal
  readonly #off: () => void
  readonly #interrupt = () => this.end(INTERRUPTED)

  constructor(run: RunGuard, interrupted: AbortSignal) {
    super()
    this.#run = run
    this.#interrupted = interrupted
    this.#off = run.onEnd((reason) => this.end(reason))
    if (interrupted.aborted) this.#interrupt()
    else interrupted.addEventListener('abort', this.#interrupt, { once: true })
  }

  /** True if the user interrupted the answer before its end, and its run continues. */
  get isInterrupted(): boolean {
    return this.signal.reason === INTERRUPTED
  }

  expectFirstToken(): void {
    this.#run.expectFirstToken()
  }

  expectToken(): void {
    this.#run.expectToken()
  }

  expectNothing(): void {
    this.#run.expectNothing()
  }

  /** Removes its listeners once the model call has ended. */
  close(): void {
    this.#off()
    this.#interrupted.removeEventListener('abort', this.#interrupt)
  }
}

const INTERRUPTED = Symbol('the user interrupted the answer')
