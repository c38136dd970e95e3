import { reachesOwner, type StoredRun } from '@svc/registry'
import { A2A_ERR_TASK_NOT_FOUND } from '../errors.ts'
import type { Call, Surface } from '../surface.ts'

/**
 * The run behind a task, when the caller reaches its owner and its agent is exposed here: every other is like one that does
 * not exist.
 * @throws A2A_ERR_TASK_NOT_FOUND
 */
export async function requireTask(surface: Surface, { principal }: Call, taskId: string): Promise<StoredRun> {
  const run = await surface.runs.get(taskId)
  if (run === undefined || !reachesOwner(principal, run.owner) || !isExposed(surface, run))
    throw new A2A_ERR_TASK_NOT_FOUND()
  return run
}

/** Whether a run is one of a runnable that is shown here. */
export function isExposed({ agents }: Surface, { kind, name }: StoredRun): boolean {
  return agents.get(name)?.kind === kind
}
