import type { Awaitable } from '../contract/ports/awaitable.ts'
import type { RunStore } from '../contract/ports/run-store.ts'

/** The parts of a run that its journal needs. */
export interface JournalHost {
  readonly runId: string
  readonly record: { readonly epoch: number }
  /** @throws the reason of the end if the run has ended */
  requireOpen(): void
  /** A step was recorded, or the store failed to read or record it. */
  stepSettled(err?: unknown): void
}

/** The journal of one run: a step that is recorded or in progress is not executed again. */
export class StepJournal {
  readonly #host: JournalHost
  readonly #store: RunStore
  readonly #inProgress = new Map<string, Promise<unknown>>()
  #executing = 0
  #onIdle: (() => void) | undefined

  constructor(host: JournalHost, store: RunStore) {
    this.#host = host
    this.#store = store
  }

  async step<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    const inProgress = this.#inProgress.get(key)
    if (inProgress !== undefined) return inProgress as Promise<T>
    const step = this.#execute(key, fn)
    this.#inProgress.set(key, step)
    try {
      return await step
    } finally {
      this.#inProgress.delete(key)
    }
  }

  /** True if no step is in progress. */
  get idle(): boolean {
    return this.#inProgress.size === 0
  }

  /** Starts no more steps, and calls back once the current ones are recorded. */
  stop(onIdle: () => void): void {
    this.#onIdle = onIdle
    this.#reportIdle()
  }

  #reportIdle(): void {
    if (this.#executing === 0) this.#onIdle?.()
  }

  async #execute<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    const { runId, record } = this.#host
    this.#host.requireOpen()
    const recorded = await this.#ask(() => this.#store.readStep(runId, key))
    if (recorded !== undefined) return recorded.output as T
    this.#host.requireOpen()
    // The run's signal ends the wait for this step.
    if (this.#onIdle !== undefined) return new Promise(() => {})
    this.#executing++
    try {
      const json = JSON.stringify(await fn())
      const output = json === undefined ? undefined : (JSON.parse(json) as T)
      await this.#ask(() => this.#store.recordStep(runId, record.epoch, key, output))
      this.#host.stepSettled()
      return output as T
    } finally {
      this.#executing--
      this.#reportIdle()
    }
  }

  async #ask<T>(question: () => Awaitable<T>): Promise<T> {
    try {
      return await question()
    } catch (err) {
      this.#host.stepSettled(err)
      throw err
    }
  }
}
