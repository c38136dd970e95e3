import { RunResultBuilder } from '@svc/contract'
import { A2A_ERR_TASK_NOT_FOUND } from '../errors.ts'
import { acceptMessage } from '../messages/accept-message.ts'
import { replyAlone } from '../messages/reply-alone.ts'
import type { Call, Outputs, SendRequest } from '../model/requests.ts'
import { isInterruptedState, type Reply } from '../model/task.ts'
import type { Surface } from '../service/surface.ts'
import { taskStateOf } from '../tasks/task-events.ts'
import { readTask, type KnownTask, type TaskRun } from '../tasks/read-task.ts'
import { openReplyStream, openNewStream, openStream, type TaskStream } from '../tasks/task-stream.ts'

/** Milliseconds until a client that does not wait gets the task, if its agent replies with messages. */
const AT_ONCE = 1_000

/**
 * Accepts a message and replies with its task, once it has ended or waits for input, or at once if the client does not wait; or with the
 * answer alone.
 */
export async function send(surface: Surface, call: Call, request: SendRequest): Promise<Reply> {
  const accepted = await acceptMessage(surface, call, request)
  const { run, messages, storeTask } = accepted
  if (accepted.isOfAnother) return toBareTask(run)
  const outputs = toOutputs(call, request)
  const replyWith = async (record: TaskRun, known: KnownTask): Promise<Reply> => {
    const view = { historyLength: request.historyLength }
    return { type: 'task', task: await readTask(surface, record, outputs, view, known) }
  }
  if (!request.wait && storeTask === undefined) {
    const isNew = messages !== undefined
    return replyWith(run, { messages, ...(isNew && { result: new RunResultBuilder().build() }) })
  }
  const settled = accepted.settled()
  if (storeTask !== undefined) {
    const limit = request.wait ? surface.replyTimeout : Math.min(surface.replyTimeout, AT_ONCE)
    const message = await replyAlone(surface, outputs, accepted, settled, limit)
    if (message !== undefined) return { type: 'message', message }
  }
  const result = request.wait ? await settled : undefined
  const now = await surface.runs.find(run.runId)
  if (now === undefined) throw new A2A_ERR_TASK_NOT_FOUND()
  return replyWith(now, { messages, result })
}

/** Accepts a message and streams its task until it ends or waits for input, or the answer alone. */
export async function stream(surface: Surface, call: Call, request: SendRequest): Promise<TaskStream> {
  const accepted = await acceptMessage(surface, call, request)
  const { run, messages, storeTask } = accepted
  if (accepted.isOfAnother) return openReplyStream(run.runId, toBareTask(run))
  const outputs = toOutputs(call, request)
  const view = { historyLength: request.historyLength }
  if (storeTask !== undefined) {
    const message = await replyAlone(surface, outputs, accepted, accepted.settled(), surface.replyTimeout)
    if (message !== undefined) return openReplyStream(run.runId, { type: 'message', message })
  } else if (messages !== undefined) {
    return openNewStream(surface, run, outputs, messages, view, isInterruptedState)
  }
  return openStream(surface, run, outputs, view, isInterruptedState, true)
}

function toBareTask(run: TaskRun): Reply {
  const { runId: id, sessionId: contextId } = run
  return { type: 'task', task: { id, contextId, status: { state: taskStateOf(run) } } }
}

// As the client accepts them.
function toOutputs(call: Call, { acceptedOutputModes: accepted }: SendRequest): Outputs {
  if (accepted === undefined) return call
  const { exposeToolResults, inline } = call
  return { accepted, exposeToolResults, inline, fileUrl: (taskId, fileId) => call.fileUrl(taskId, fileId) }
}
