import type { RunLog } from '../../contract/run-log.ts'
import type { Stores } from '../../contract/ports/stores.ts'
import { toLoggable } from '../../logging/to-loggable.ts'
import { isReported } from './store-watch.ts'

/**
 * Has each store that keeps things for a time remove what is too old or too much, one after the other. Each failure is logged,
 * and keeps none of the others from its turn.
 */
export async function sweepStores({ runs, sessions, memory }: Stores, log: RunLog): Promise<void> {
  for (const [name, store] of Object.entries({ runs, sessions, memory })) {
    try {
      await store.sweep(Date.now())
    } catch (err) {
      if (!isReported(err))
        log.error({ store: name, err: toLoggable(err) }, 'what is old could not be removed')
    }
  }
}
