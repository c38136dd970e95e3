import { toLoggable, type RunLog, type Stores } from '@svc/contract'
import { isReported } from './store-watch.ts'

// Milliseconds.
const SWEEP_EVERY = 60_000

/** Sweeps the stores once a minute, until the returned function is called. */
export function sweepRegularly(stores: Stores, log: RunLog): () => void {
  const timer = setInterval(() => void sweepStores(stores, log), SWEEP_EVERY).unref()
  return () => clearInterval(timer)
}

// One store after the other; a failure of one is logged and does not stop the others.
async function sweepStores(
  { runs, sessions, memory, schedules, webhooks }: Stores,
  log: RunLog
): Promise<void> {
  const all = { runs, sessions, memory, ...(schedules && { schedules }), ...(webhooks && { webhooks }) }
  for (const [name, store] of Object.entries(all)) {
    try {
      await store.sweep(Date.now())
    } catch (err) {
      if (!isReported(err))
        log.error({ store: name, err: toLoggable(err) }, 'expired data could not be removed')
    }
  }
}
