import type { Awaitable } from '../contract/ports/awaitable.ts'
import type { RunStore } from '../contract/ports/run-store.ts'

/** What a journal needs of its run. */
export interface JournalHost {
  readonly runId: string
  readonly record: { readonly epoch: number }
  /** @throws why the run ended, when it has */
  requireOpen(): void
  /** A step is recorded, or the store could not read or record it. */
  stepSettled(err?: unknown): void
}

/** The journal of one run: a step that is recorded, or under way, is not done again. */
export class StepJournal {
  readonly #host: JournalHost
  readonly #store: RunStore
  readonly #underWay = new Map<string, Promise<unknown>>()
  #doing = 0
  #onIdle: (() => void) | undefined

  constructor(host: JournalHost, store: RunStore) {
    this.#host = host
    this.#store = store
  }

  async step<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    const underWay = this.#underWay.get(key)
    if (underWay !== undefined) return underWay as Promise<T>
    const step = this.#do(key, fn)
    this.#underWay.set(key, step)
    try {
      return await step
    } finally {
      this.#underWay.delete(key)
    }
  }

  /** Whether no step is under way. */
  get idle(): boolean {
    return this.#underWay.size === 0
  }

  /** Begins no step any more, and calls back once those under way are recorded. */
  stop(onIdle: () => void): void {
    this.#onIdle = onIdle
    this.#tellIdle()
  }

  #tellIdle(): void {
    if (this.#doing === 0) this.#onIdle?.()
  }

  async #do<T>(key: string, fn: () => Promise<T> | T): Promise<T> {
    const { runId, record } = this.#host
    this.#host.requireOpen()
    const recorded = await this.#ask(() => this.#store.readStep(runId, key))
    if (recorded !== undefined) return recorded.output as T
    this.#host.requireOpen()
    // Whoever waits for it is told by the signal of the run.
    if (this.#onIdle !== undefined) return new Promise(() => {})
    this.#doing++
    try {
      const json = JSON.stringify(await fn())
      const output = json === undefined ? undefined : (JSON.parse(json) as T)
      await this.#ask(() => this.#store.recordStep(runId, record.epoch, key, output))
      this.#host.stepSettled()
      return output as T
    } finally {
      this.#doing--
      this.#tellIdle()
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
