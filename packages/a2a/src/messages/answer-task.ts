import { isTerminalStatus, randomId, reachesOwner, type InputKind, type RunSummary } from '@svc/contract'
import { mayAnswer } from '@svc/surface'
import { A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Message } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { taskStateOf } from '../tasks/task-state.ts'
import { badParams } from '../wire/decode-params.ts'
import { readAgentName } from './choose-agent.ts'
import { findAnswered, type Answered } from './find-answered.ts'
import { joinTask } from './join-task.ts'
import { toKeptMessage, withoutContent } from './kept-message.ts'
import { readAnswer, type GivenAnswer } from './read-answer.ts'
import { hasOwnTask } from './own-task.ts'
import { hasMessage, keepMessage, requireCapacity, toTaskMessage } from './task-messages.ts'

/**
 * Accepts a message to a task that waits for input, which keeps waiting unless the message is an answer, or to one that is working, which
 * the message joins. Undefined if that task reads no more messages. Of callers who may answer, but are not its owner, a task takes nothing but
 * a complete answer, and stores nothing.
 * @throws A2A_ERR_TASK_NOT_FOUND, A2A_ERR_BAD_PARAMS, A2A_ERR_UNSUPPORTED, A2A_ERR_FORBIDDEN, RUN_ERR_BAD_INPUT, RUN_ERR_WHEN_BUSY
 */
export async function answerTask(
  surface: Surface,
  call: Call,
  request: SendRequest
): Promise<RunSummary | undefined> {
  const { message } = request
  const run = await requireAnswerable(surface, call, message.taskId!)
  const name = readAgentName(request)
  if (name !== undefined && name !== run.name)
    throw badParams('message.metadata.agentName', `The task belongs to the agent "${run.name}"`)
  if (message.contextId !== undefined && message.contextId !== run.sessionId)
    throw badParams('message.contextId', 'The task belongs to another context')

  const answer = readAnswer(message.parts)
  if (!reachesOwner(call.principal, run.owner)) return answerForOwner(surface, call, request, run, answer)
  const whole = { ...message, messageId: message.messageId ?? randomId() }
  const kept = await toKeptMessage(surface, run, whole, answer)
  const given = toTaskMessage(surface, call, message.messageId === undefined ? message : kept, kept)
  const known = await surface.tasks.get(run.runId)
  const messages = (known?.messages ?? []) as Message[]
  // Sent twice, a message is one answer.
  if (hasMessage(messages, given) || hasMessage(messages, { ...given, stored: withoutContent(whole) }))
    return run
  if (isTerminalStatus(run.status) && (await hasOwnTask(surface, call, request, run))) return undefined
  if (isTerminalStatus(run.status)) throw new A2A_ERR_UNSUPPORTED(`the task is ${taskStateOf(run)}`)
  if (run.status !== 'input-required') {
    // It was sent again, or too late: the model is not to read it.
    if (answer !== undefined && 'inputId' in answer)
      throw new A2A_ERR_UNSUPPORTED('the task is not waiting for this answer')
    return joinTask(surface, call, request, { run, known, given })
  }
  const answered = answer && (await findAnswered(surface, call, run, answer))
  if (answered === undefined) requireCapacity(messages)
  // Another node may have it meanwhile.
  if (!(await keepMessage(surface, run, known, given))) return run
  return answered === undefined ? run : answerRun(surface, answered)
}

async function answerForOwner(
  surface: Surface,
  call: Call,
  { push }: SendRequest,
  run: RunSummary,
  answer: GivenAnswer | undefined
): Promise<RunSummary> {
  if (push !== undefined)
    throw badParams('configuration.taskPushNotificationConfig', 'Only the owner of a task is notified of it')
  const answered = answer && (await findAnswered(surface, call, run, answer))
  if (answered === undefined)
    throw badParams('message.parts', 'Expected an answer to what the task of another user waits for')
  return answerRun(surface, answered)
}

// It may have been answered elsewhere meanwhile, or have expired.
async function answerRun({ runs }: Surface, { inputId, answer }: Answered): Promise<RunSummary> {
  try {
    return await runs.answer(inputId, answer)
  } catch (err) {
    const { code, message } = err as { code?: string; message: string }
    if (code !== 'RUN_ERR_APPROVAL_ANSWERED' && code !== 'RUN_ERR_INPUT_ANSWERED') throw err
    throw new A2A_ERR_UNSUPPORTED(message)
  }
}

async function requireAnswerable(surface: Surface, { principal }: Call, taskId: string): Promise<RunSummary> {
  const run = await surface.runs.find(taskId)
  if (run !== undefined)
    for (const kind of kindsOf(run)) if (await mayAnswer(surface, run, kind, principal)) return run
  throw new A2A_ERR_TASK_NOT_FOUND()
}

// Permission to answer every approval or question gives access to tasks of others only while one waits; else only the owner has it.
function kindsOf({ waiting: { approvals, inputs } }: RunSummary): ReadonlySet<InputKind> {
  return new Set([...approvals.first, ...inputs.first].map(({ kind }) => kind)).add('tool')
}
