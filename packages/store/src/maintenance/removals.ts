import type { RunStore } from '@svc/contract'
import type { ExpiredDays } from '../backend.ts'
import type { Commit } from '../commit.ts'
import { removeRuns } from '../rows/run-rows.ts'

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

  /**
   * Removes runs once every listener has resolved; call it outside of transactions.
   * @param days whose logs are removed otherwise
   * @throws the error of a listener
   */
  async remove(commit: Commit, runIds: readonly string[], days?: ExpiredDays): Promise<void> {
    for (const listener of this.#listeners) await listener(runIds)
    const withLogs = runIds.filter((runId) => days?.has(runId) !== true)
    await commit.write((trx) => removeRuns(trx, runIds, withLogs))
    for (const runId of runIds) this.#abandon(runId)
  }
}
