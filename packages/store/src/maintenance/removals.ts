import type { RunStore } from '@svc/registry'

type Listener = Parameters<NonNullable<RunStore['onRemove']>>[0]

/** Announces the removal of runs, so that other data of theirs goes first: no crash leaves it behind. */
export class Removals {
  readonly #listeners = new Set<Listener>()
  readonly #abandon: (runId: string) => void

  /** @param abandon notifies the readers of a removed log */
  constructor(abandon: (runId: string) => void) {
    this.#abandon = abandon
  }

  /** Calls the listener before each removal, until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves once every listener has; call it outside of transactions. @throws the error of a listener */
  async announce(runIds: readonly string[]): Promise<void> {
    for (const listener of this.#listeners) await listener(runIds)
  }

  done(runIds: readonly string[]): void {
    for (const runId of runIds) this.#abandon(runId)
  }
}
