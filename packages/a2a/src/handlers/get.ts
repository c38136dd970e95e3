import type { Requests } from '../model/requests.ts'
import type { Task } from '../model/task.ts'
import type { Call, Surface } from '../surface.ts'
import { readTask } from '../tasks/read-task.ts'
import { requireTask } from '../tasks/require-task.ts'

/** @throws A2A_ERR_TASK_NOT_FOUND */
export async function get(
  surface: Surface,
  call: Call,
  { id, historyLength }: Requests['get']
): Promise<Task> {
  return readTask(surface, await requireTask(surface, call, id), { historyLength })
}
