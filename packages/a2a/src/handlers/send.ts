import type { SendRequest } from '../model/requests.ts'
import type { Task } from '../model/task.ts'
import { A2A_ERR_TASK_NOT_FOUND } from '../errors.ts'
import type { Call, Surface } from '../surface.ts'
import { acceptMessage } from '../tasks/accept-message.ts'
import { readTask } from '../tasks/read-task.ts'

/** Takes a message and gives the task: ended or waiting for input, or at once where the client does not wait. */
export async function send(surface: Surface, call: Call, request: SendRequest): Promise<Task> {
  const { runId, said, rest } = await acceptMessage(surface, call, request)
  const result = request.wait ? await rest() : undefined
  const run = await surface.runs.find(runId)
  if (run === undefined) throw new A2A_ERR_TASK_NOT_FOUND()
  return readTask(surface, run, { historyLength: request.historyLength }, { said, result })
}
