import {
  reachesOwner,
  RUN_ERR_NOT_FOUND,
  type Authorize,
  type Principal,
  type RunSummary
} from '@svc/contract'
import type { RunEngine } from '@svc/registry'
import type { Exposed } from '@svc/registry/engine'

/** The parts of a surface that decide who reaches a run. */
export interface RunAccess {
  readonly runs: Pick<RunEngine, 'find' | 'findInput'>
  readonly exposed: Pick<Exposed, 'shows'>
  readonly policy: { readonly authorize: Authorize }
}

/**
 * Finds a run that the caller reaches and that belongs to the surface; any other run counts as missing.
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
