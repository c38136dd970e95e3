import { reachesOwner, RUN_ERR_NOT_FOUND, type Principal, type StoredRun } from '@svc/registry'
import type { Surface } from '../surface.ts'

/**
 * The stored run, when the caller reaches its owner and its runnable is exposed here: every other is like one that does
 * not exist.
 * @throws RUN_ERR_NOT_FOUND
 */
export async function requireRun(surface: Surface, runId: string, principal: Principal): Promise<StoredRun> {
  const run = await surface.runs.get(runId)
  if (run === undefined || !reachesOwner(principal, run.owner) || !surface.exposed.get(run.kind, run.name))
    throw new RUN_ERR_NOT_FOUND(runId)
  return run
}
