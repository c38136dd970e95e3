import type { RunLog } from '../contract/run-context.ts'
import type { Awaitable } from '../stores/awaitable.ts'
import type { Stores } from '../stores/stores.ts'
import type { LostRuns } from './lost-runs.ts'
import { toLoggable } from '../logging/to-loggable.ts'

/**
 * Ends the runs that a fault left under way, and has each store that keeps things for a time remove what is too old or too
 * much, one after the other. Each failure is logged, and keeps none of the others from its turn.
 */
export async function sweepStores(
  { runs, sessions, memory }: Stores,
  lost: LostRuns,
  log: RunLog
): Promise<void> {
  const failed = (store: string, what: string) => (err: unknown) =>
    log.error({ store, err: toLoggable(err) }, what)
  await attempt(() => lost.end(), failed('runs', 'what a fault of the store left could not be ended'))
  for (const [name, store] of Object.entries({ runs, sessions, memory }))
    await attempt(() => store.sweep(Date.now()), failed(name, 'what is old could not be removed'))
}

async function attempt(does: () => Awaitable<unknown>, failed: (err: unknown) => void): Promise<void> {
  try {
    await does()
  } catch (err) {
    failed(err)
  }
}
