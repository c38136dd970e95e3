import { isTerminalStatus } from '@svc/registry'
import { A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Requests } from '../model/requests.ts'
import { isInterruptedState } from '../model/task.ts'
import type { Call, Surface } from '../surface.ts'
import { requireTask } from '../tasks/require-task.ts'
import { openStream, type TaskStream } from '../tasks/task-stream.ts'

/**
 * Tells a task as it stands, then its changes. Before 1.0 the stream ends where the task waits for input too, and a
 * finished task is told once more.
 * @throws A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED
 */
export async function subscribe(
  surface: Surface,
  call: Call,
  { id }: Requests['subscribe']
): Promise<TaskStream> {
  const run = await requireTask(surface, call, id)
  const isLegacy = call.version === '0.3'
  if (isTerminalStatus(run.status) && !isLegacy) throw new A2A_ERR_UNSUPPORTED(`the task is ${run.status}`)
  return openStream(surface, run, {}, isLegacy ? isInterruptedState : never)
}

function never(): boolean {
  return false
}
