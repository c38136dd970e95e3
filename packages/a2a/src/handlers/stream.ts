import type { SendRequest } from '../model/requests.ts'
import { A2A_ERR_TASK_NOT_FOUND } from '../errors.ts'
import { isInterruptedState } from '../model/task.ts'
import type { Call, Surface } from '../surface.ts'
import { acceptMessage } from '../tasks/accept-message.ts'
import { openNewStream, openStream, type TaskStream } from '../tasks/task-stream.ts'

/** Takes a message and tells what comes of it, until the task ends or waits for input. */
export async function stream(surface: Surface, call: Call, request: SendRequest): Promise<TaskStream> {
  const { runId, said } = await acceptMessage(surface, call, request)
  const run = await surface.runs.find(runId)
  if (run === undefined) throw new A2A_ERR_TASK_NOT_FOUND()
  const view = { historyLength: request.historyLength }
  if (said !== undefined) return openNewStream(surface, run, said, view, isInterruptedState)
  return openStream(surface, run, view, isInterruptedState, true)
}
