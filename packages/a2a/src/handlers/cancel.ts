import { isTerminalStatus, RUN_ERR_TERMINAL, type RunSummary } from '@svc/registry'
import { A2A_ERR_NOT_CANCELABLE } from '../errors.ts'
import type { Requests } from '../model/requests.ts'
import type { Task } from '../model/task.ts'
import type { Call, Surface } from '../surface.ts'
import { readTask } from '../tasks/read-task.ts'
import { requireTask } from '../tasks/require-task.ts'

/** Ends a task, and what its agent is doing. @throws A2A_ERR_TASK_NOT_FOUND, A2A_ERR_NOT_CANCELABLE */
export async function cancel(surface: Surface, call: Call, { id }: Requests['cancel']): Promise<Task> {
  const run = await requireTask(surface, call, id)
  if (isTerminalStatus(run.status)) throw new A2A_ERR_NOT_CANCELABLE(run.status)
  return readTask(surface, await end(surface, run))
}

async function end({ runs }: Surface, { runId }: RunSummary): Promise<RunSummary> {
  try {
    return await runs.cancel(runId)
  } catch (err) {
    if ((err as { code?: string }).code !== new RUN_ERR_TERMINAL('').code) throw err
    throw new A2A_ERR_NOT_CANCELABLE((await runs.find(runId))?.status ?? 'gone')
  }
}
