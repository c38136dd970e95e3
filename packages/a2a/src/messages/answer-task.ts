import { isTerminalStatus, RUN_ERR_KEY_REUSED, type InputKind, type RunSummary } from '@svc/registry'
import { mayAnswer, randomId } from '@svc/registry/kit'
import { A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Message } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { readMessages } from '../tasks/read-task.ts'
import { badParams } from '../wire/decode-params.ts'
import { readAgentName } from './choose-agent.ts'
import { findAnswered, type Answered } from './find-answered.ts'
import { joinTask } from './join-task.ts'
import { readAnswer } from './read-answer.ts'
import { hasMessage, keepMessage, requireCapacity } from './task-messages.ts'
import { withoutBytes } from './without-bytes.ts'

/**
 * Accepts a message to a task that waits for input, which keeps waiting unless the message is an answer, or to one that is working, which
 * the message joins. Undefined if that task reads no more messages.
 * @throws A2A_ERR_TASK_NOT_FOUND, A2A_ERR_BAD_PARAMS, A2A_ERR_UNSUPPORTED, A2A_ERR_FORBIDDEN, RUN_ERR_BAD_INPUT, RUN_ERR_KEY_REUSED,
 * RUN_ERR_WHEN_BUSY
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

  const messageId = message.messageId ?? randomId()
  const stored = withoutBytes({ ...message, messageId })
  const known = await surface.tasks.get(run.runId)
  const messages = (known?.messages ?? []) as Message[]
  // Sent twice, a message is one answer.
  if (hasMessage(messages, stored)) return run
  if (isTerminalStatus(run.status) && (await isElsewhere(surface, run, message.messageId))) return undefined
  if (isTerminalStatus(run.status)) throw new A2A_ERR_UNSUPPORTED(`the task is ${run.status}`)
  const given = readAnswer(message.parts)
  if (run.status !== 'input-required') {
    // It was sent again, or too late: the model is not to read it.
    if (given !== undefined && 'inputId' in given)
      throw new A2A_ERR_UNSUPPORTED('the task is not waiting for this answer')
    return joinTask(surface, call, request, { run, known, stored })
  }
  const answered = given && (await findAnswered(surface, call, run, given))
  if (answered === undefined) requireCapacity(messages)
  if (!(await keepMessage(surface, run, known, stored))) {
    // The id was used meanwhile, or for another task.
    if (hasMessage(await readMessages(surface, run.runId), stored)) return run
    throw new RUN_ERR_KEY_REUSED()
  }
  return answered === undefined ? run : answerRun(surface, answered)
}

// Sent twice, a message that came too late for its task has begun another one.
async function isElsewhere(
  { tasks }: Surface,
  { registry, owner, runId }: RunSummary,
  messageId: string | undefined
): Promise<boolean> {
  const taskId = messageId === undefined ? undefined : await tasks.taskOfMessage(registry, owner, messageId)
  return taskId !== undefined && taskId !== runId
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
