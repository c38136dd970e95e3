import type { Authorize, Principal } from '../contract/principal.ts'
import { reachesOwner } from '../contract/scopes.ts'
import { RUN_ERR_NOT_FOUND } from '../errors.ts'
import type { RunEngine } from '../runs/run-engine.ts'
import type { RunSummary } from '../contract/ports/run-store.ts'
import type { Exposed } from './exposed.ts'

/** What of an entrance decides who reaches a run. */
export interface RunAccess {
  readonly runs: Pick<RunEngine, 'find' | 'findApproval'>
  readonly exposed: Pick<Exposed, 'shows'>
  readonly policy: { readonly authorize: Authorize }
}

/**
/**
 * What is stored of a run, without what may be large, when the caller reaches its owner and it belongs to the surface: every
 * other is like one that does not exist.
 * @throws RUN_ERR_NOT_FOUND
 */
export async function requireRun(
  access: RunAccess,
  runId: string,
  principal: Principal
): Promise<RunSummary> {
  const run = await access.runs.find(runId)
  if (run === undefined || !reachesOwner(principal, run.owner) || !access.exposed.shows(run))
    throw new RUN_ERR_NOT_FOUND(runId)
  return run
}
