import { requireRun } from '@svc/registry'
import type { CancelEvent } from '../events/client-events.ts'
import type { Handler } from './handler.ts'

/** `run.cancel`: ends a run. @throws RUN_ERR_NOT_FOUND, RUN_ERR_TERMINAL */
export const cancelRun: Handler<CancelEvent> = async (surface, { principal }, { runId }) => {
  await requireRun(surface, runId, principal)
  await surface.runs.cancel(runId)
  return { ack: { ok: true } }
}
