import { RunResultBuilder } from '@svc/registry/kit'
import { A2A_ERR_TASK_NOT_FOUND } from '../errors.ts'
import { acceptMessage } from '../messages/accept-message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import { isInterruptedState, type Reply } from '../model/task.ts'
import type { Surface } from '../service/surface.ts'
import { readTask } from '../tasks/read-task.ts'
import { openNewStream, openStream, type TaskStream } from '../tasks/task-stream.ts'

/** Accepts a message and returns its task: once it has ended or waits for input, or at once if the client does not wait. */
export async function send(surface: Surface, call: Call, request: SendRequest): Promise<Reply> {
  const { run, messages, settled } = await acceptMessage(surface, call, request)
  const view = { historyLength: request.historyLength }
  if (!request.wait) {
    const isNew = messages !== undefined
    const known = { messages, ...(isNew && { result: new RunResultBuilder().build() }) }
    return { type: 'task', task: await readTask(surface, run, call, view, known) }
  }
  const result = await settled()
  const now = await surface.runs.find(run.runId)
  if (now === undefined) throw new A2A_ERR_TASK_NOT_FOUND()
  return { type: 'task', task: await readTask(surface, now, call, view, { messages, result }) }
}

/** Accepts a message and streams its task until it ends or waits for input. */
export async function stream(surface: Surface, call: Call, request: SendRequest): Promise<TaskStream> {
  const { run, messages } = await acceptMessage(surface, call, request)
  const view = { historyLength: request.historyLength }
  if (messages !== undefined) return openNewStream(surface, run, call, messages, view, isInterruptedState)
  return openStream(surface, run, call, view, isInterruptedState, true)
}
