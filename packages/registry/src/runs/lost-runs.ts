import { RUN_ERR_STORE } from '../errors.ts'
import type { StoredRun } from '../stores/run-store.ts'
import type { Stores } from '../stores/stores.ts'
import { endAsFailed } from './recover-runs.ts'

// More than so many end at the next start of the service.
const MAX_LOST = 10_000

/** Runs that a fault of the store left under way in it, to be ended when it works again. */
export class LostRuns {
  readonly #stores: Stores
  readonly #epochs = new Map<string, number>()

  constructor(stores: Stores) {
    this.#stores = stores
  }

  /** Takes a run whose log cannot be written, unless it is another's now. */
  add({ runId, epoch }: Pick<StoredRun, 'runId' | 'epoch'>, reason: unknown): void {
    if (!isFenced(reason) && this.#epochs.size < MAX_LOST) this.#epochs.set(runId, epoch)
  }

  /** Ends them. @throws what the store throws, when it still fails */
  async end(): Promise<void> {
    for (const [runId, epoch] of this.#epochs) {
      try {
        await endAsFailed(this.#stores, runId, epoch, new RUN_ERR_STORE())
      } catch (err) {
        if (!isFenced(err)) throw err
      }
      this.#epochs.delete(runId)
    }
  }
}

function isFenced(err: unknown): boolean {
  return (err as { code?: unknown } | null | undefined)?.code === 'RUN_ERR_FENCED'
}
