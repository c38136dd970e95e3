import { codeOf, type RunSummary } from '@svc/contract'
import { requireRun } from '@svc/surface'
import { A2A_ERR_TASK_NOT_FOUND } from '../errors.ts'
import type { Call } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'

/**
 * The run of a task, if the caller may reach its owner and its agent is exposed here. Every other task does not exist for the
 * caller.
 * @throws A2A_ERR_TASK_NOT_FOUND
 */
export async function requireTask(
  surface: Surface,
  { principal }: Pick<Call, 'principal'>,
  taskId: string
): Promise<RunSummary> {
  try {
    return await requireRun(surface, taskId, principal)
  } catch (err) {
    throw codeOf(err) === 'RUN_ERR_NOT_FOUND' ? new A2A_ERR_TASK_NOT_FOUND() : err
  }
}
