import { isDeepStrictEqual } from 'node:util'
import {
  isTerminalStatus,
  RUN_ERR_KEY_REUSED,
  type InputKind,
  type RunSummary,
  type StoredTask
} from '@svc/registry'
import { mayAnswer, randomId } from '@svc/registry/kit'
import { A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Message } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { readMessages } from '../tasks/read-task.ts'
import { badParams } from '../wire/decode-params.ts'
import { readAgentName } from './choose-agent.ts'
import { findAnswered, type Answered } from './find-answered.ts'
import { readAnswer } from './read-answer.ts'
import { withoutBytes } from './without-bytes.ts'

/** Messages of a task, and characters of their JSON, after which it accepts answers only. */
const MAX_MESSAGES = 100
const MAX_SIZE = 4_194_304

/**
 * Accepts a message to a task that waits for input; the task keeps waiting unless the message is an answer.
 * @throws A2A_ERR_TASK_NOT_FOUND, A2A_ERR_BAD_PARAMS, A2A_ERR_UNSUPPORTED, RUN_ERR_BAD_INPUT, RUN_ERR_KEY_REUSED
 */
export async function answerTask(surface: Surface, call: Call, request: SendRequest): Promise<RunSummary> {
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
  if (isTerminalStatus(run.status)) throw new A2A_ERR_UNSUPPORTED(`the task is ${run.status}`)
  if (run.status !== 'input-required') throw new A2A_ERR_UNSUPPORTED('the task is not waiting for a message')
  const given = readAnswer(message.parts)
  const answered = given && (await findAnswered(surface, call, run, given))
  if (answered === undefined) requireCapacity(messages)
  if (!(await keep(surface, run, known, stored))) {
    // The id was used meanwhile, or for another task.
    if (hasMessage(await readMessages(surface, run.runId), stored)) return run
    throw new RUN_ERR_KEY_REUSED()
  }
  return answered === undefined ? run : answerRun(surface, answered)
}

// A run of another surface becomes a task with its first message.
async function keep(
  { tasks }: Surface,
  { runId: taskId, sessionId: contextId, registry, owner, name: agentName, createdAt }: RunSummary,
  known: StoredTask | undefined,
  message: Message
): Promise<boolean> {
  const { messageId } = message
  if (known !== undefined) return tasks.addMessage(taskId, messageId, message)
  const task = { taskId, contextId, registry, owner, agentName, createdAt, messages: [message] }
  return (await tasks.create(task, messageId)) === taskId
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

/** True if a task has the message already. @throws RUN_ERR_KEY_REUSED if it has another one with the same id */
function hasMessage(messages: readonly Message[], message: Message): boolean {
  const earlier = messages.find(({ messageId }) => messageId === message.messageId)
  if (earlier === undefined) return false
  if (isDeepStrictEqual(earlier, message)) return true
  throw new RUN_ERR_KEY_REUSED()
}

// Every history of the task repeats its messages.
function requireCapacity(messages: readonly Message[]): void {
  const size = JSON.stringify(messages).length
  if (messages.length >= MAX_MESSAGES || size >= MAX_SIZE)
    throw new A2A_ERR_UNSUPPORTED('the task has too many messages: it accepts only an answer')
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
