import { A2A_ERR_TASK_NOT_FOUND } from '../errors.ts'
import { acceptMessage } from '../messages/accept-message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import { isInterruptedState, type Task } from '../model/task.ts'
import type { Surface } from '../service/surface.ts'
import { readTask } from '../tasks/read-task.ts'
import { openNewStream, openStream, type TaskStream } from '../tasks/task-stream.ts'

/** Takes a message and gives the task: ended or waiting for input, or at once where the client does not wait. */
export async function send(surface: Surface, call: Call, request: SendRequest): Promise<Task> {
  const { runId, said, rest } = await acceptMessage(surface, call, request)
  const result = request.wait ? await rest() : undefined
  const run = await surface.runs.find(runId)
  if (run === undefined) throw new A2A_ERR_TASK_NOT_FOUND()
  return readTask(surface, run, { historyLength: request.historyLength }, { said, result })
}

/** Takes a message and tells what comes of it, until the task ends or waits for input. */
export async function stream(surface: Surface, call: Call, request: SendRequest): Promise<TaskStream> {
  const { runId, said } = await acceptMessage(surface, call, request)
  const run = await surface.runs.find(runId)
  if (run === undefined) throw new A2A_ERR_TASK_NOT_FOUND()
  const view = { historyLength: request.historyLength }
  if (said !== undefined) return openNewStream(surface, run, said, view, isInterruptedState)
  return openStream(surface, run, view, isInterruptedState, true)
}
