import { RunResultBuilder, type Awaitable, type RunResult, type RunSummary } from '@svc/contract'
import { A2A_ERR_TASK_NOT_FOUND } from '../errors.ts'
import { acceptMessage } from '../messages/accept-message.ts'
import { replyAlone } from '../messages/reply-alone.ts'
import type { Call, Outputs, SendRequest } from '../model/requests.ts'
import { isInterruptedState, type Reply } from '../model/task.ts'
import type { Surface } from '../service/surface.ts'
import { taskStateOf } from '../tasks/task-events.ts'
import { readTask, type TaskRun } from '../tasks/read-task.ts'
import { openReplyStream, openNewStream, openStream, type TaskStream } from '../tasks/task-stream.ts'

/** Milliseconds until a client that does not wait gets the task, if its agent replies with messages. */
const AT_ONCE = 1_000

/**
 * Accepts a message and replies with its task, once it has ended or waits for input, or at once if the client does not wait; or with the
 * answer alone.
 */
export async function send(surface: Surface, call: Call, request: SendRequest): Promise<Reply> {
  const accepted = await acceptMessage(surface, call, request)
  const { run, messages, mayReplyAlone } = accepted
  if (accepted.isOfAnother) return toBareTask(run)
  const outputs = toOutputs(call, request)
  const view = { historyLength: request.historyLength }
  if (!request.wait && !mayReplyAlone) {
    const result = messages && new RunResultBuilder().build()
    return { type: 'task', task: await readTask(surface, run, outputs, view, { messages, result }) }
  }
  const settled = accepted.settled()
  if (mayReplyAlone) {
    const limit = request.wait ? surface.replyTimeout : Math.min(surface.replyTimeout, AT_ONCE)
    const message = await replyAlone(surface, outputs, accepted, settled, limit)
    if (message !== undefined) return { type: 'message', message }
  }
  const result = request.wait ? await settled : undefined
  const now = await findNow(surface, run.runId, result)
  if (now === undefined) throw new A2A_ERR_TASK_NOT_FOUND()
  return { type: 'task', task: await readTask(surface, now, outputs, view, { messages, result }) }
}

// The end of a run that has its result here needs no recovery.
function findNow(
  { runs }: Surface,
  runId: string,
  result: RunResult | undefined
): Awaitable<RunSummary | undefined> {
  return result === undefined ? runs.find(runId) : runs.stores.runs.find(runId)
}

/** Accepts a message and streams its task until it ends or waits for input, or the answer alone. */
export async function stream(surface: Surface, call: Call, request: SendRequest): Promise<TaskStream> {
  const accepted = await acceptMessage(surface, call, request)
  const { run, messages } = accepted
  if (accepted.isOfAnother) return openReplyStream(run.runId, toBareTask(run))
  const outputs = toOutputs(call, request)
  const view = { historyLength: request.historyLength }
  if (accepted.mayReplyAlone) {
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

function toOutputs(call: Call, { acceptedOutputModes: accepted }: SendRequest): Outputs {
  return accepted === undefined ? call : new AcceptedOutputs(call, accepted)
}

// As the client accepts them.
class AcceptedOutputs implements Outputs {
  readonly accepted: readonly string[]
  readonly exposeToolResults: boolean
  readonly inline: Outputs['inline']
  readonly #call: Call

  constructor(call: Call, accepted: readonly string[]) {
    this.accepted = accepted
    this.exposeToolResults = call.exposeToolResults
    this.inline = call.inline
    this.#call = call
  }

  fileUrl(taskId: string, fileId: string): string {
    return this.#call.fileUrl(taskId, fileId)
  }
}
