import { setTimeout } from 'node:timers/promises'
import { toLoggable, type RunLog } from '@svc/contract'
import type { RunEngine } from '../engine/run-engine.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'

// Milliseconds between attempts; doubles from the first to the last.
const FIRST_DELAY = 250
const LAST_DELAY = 15_000

/** Recovers the runs that a crash left; retries while the store fails, until the engine closes. */
export async function recoverInBackground(engine: RunEngine, log: RunLog): Promise<void> {
  for (let delay = FIRST_DELAY; !engine.draining; delay = Math.min(2 * delay, LAST_DELAY)) {
    try {
      const interrupted = await engine.recover()
      if (interrupted > 0) log.warn({ interrupted }, 'runs that a restart interrupted have ended')
      return
    } catch (err) {
      if (!isReported(err)) log.error({ err: toLoggable(err) }, 'interrupted runs could not be recovered yet')
      await setTimeout(delay, undefined, { ref: false })
    }
  }
}
