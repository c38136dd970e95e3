import { isDeepStrictEqual } from 'node:util'
import {
  isTerminalStatus,
  mayAnswer,
  randomId,
  RUN_ERR_KEY_REUSED,
  reachesOwner,
  type ApprovalAnswer,
  type RunSummary,
  type StoredTask
} from '@svc/registry'
import { A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Message } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { badParams } from '../wire/decode-params.ts'
import { readAgentName } from './choose-agent.ts'
import { readAnswer, type TaskAnswer } from './read-answer.ts'
import { readSaid } from '../tasks/read-task.ts'

/** Messages that a task may have, and the characters of their JSON, before it takes answers alone. */
const MAX_MESSAGES = 100
const MAX_SIZE = 4_194_304

/**
 * Takes a message to a task that waits for input; one that is no answer keeps it waiting.
 * @throws A2A_ERR_TASK_NOT_FOUND, A2A_ERR_BAD_PARAMS, A2A_ERR_UNSUPPORTED, RUN_ERR_BAD_INPUT, RUN_ERR_KEY_REUSED
 */
export async function answerTask(surface: Surface, call: Call, request: SendRequest): Promise<RunSummary> {
  const { message } = request
  const run = await requireAnswerable(surface, call, message.taskId!)
  const name = readAgentName(request)
  if (name !== undefined && name !== run.name)
    throw badParams('message.metadata.agentName', `The task is one of "${run.name}"`)
  if (message.contextId !== undefined && message.contextId !== run.sessionId)
    throw badParams('message.contextId', 'The task is of another context')

  const messageId = message.messageId ?? randomId()
  const stored: Message = { ...message, messageId }
  const known = await surface.tasks.get(run.runId)
  const said = (known?.messages ?? []) as Message[]
  const isSaid = wasSaid(said, stored)
  if (isTerminalStatus(run.status) || run.status !== 'input-required') {
    if (isSaid) return run
    throw new A2A_ERR_UNSUPPORTED(
      isTerminalStatus(run.status) ? `the task is ${run.status}` : 'the task does not wait for a message'
    )
  }
  // The same message twice is one answer.
  if (isSaid) return run
  const given = readAnswer(message.parts)
  const asked = given && (await findAsked(surface, run, given))
  if (asked === undefined) requireRoom(said)
  if (!(await keep(surface, run, known, stored))) {
    // At the same time, or to another task.
    if (wasSaid(await readSaid(surface, run.runId), stored)) return run
    throw new RUN_ERR_KEY_REUSED()
  }
  if (given === undefined || asked === undefined) return run
  const { approvalId: _, ...outcome } = given
  return answer(surface, asked, outcome)
}

// A run of another surface becomes a task with the first message that it is sent.
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

// It may have been answered elsewhere meanwhile, or its time may be over.
async function answer({ runs }: Surface, approvalId: string, outcome: ApprovalAnswer): Promise<RunSummary> {
  try {
    return await runs.answer(approvalId, outcome)
  } catch (err) {
    const { code, message } = err as { code?: string; message: string }
    if (code !== 'RUN_ERR_APPROVAL_ANSWERED') throw err
    throw new A2A_ERR_UNSUPPORTED(message)
  }
}

/** Whether a message was said to a task already. @throws RUN_ERR_KEY_REUSED when it was another one with the same id */
function wasSaid(said: readonly Message[], message: Message): boolean {
  const earlier = said.find(({ messageId }) => messageId === message.messageId)
  if (earlier === undefined) return false
  if (isDeepStrictEqual(earlier, message)) return true
  throw new RUN_ERR_KEY_REUSED()
}

// Each one is in every history of the task from then on.
function requireRoom(said: readonly Message[]): void {
  const size = JSON.stringify(said).length
  if (said.length >= MAX_MESSAGES || size >= MAX_SIZE)
    throw new A2A_ERR_UNSUPPORTED('the task has had too many messages: it takes an answer, and nothing else')
}

/** The id of the approval that is answered; of several that wait, a bare word means none. @throws A2A_ERR_BAD_PARAMS */
async function findAsked(
  { runs }: Surface,
  { runId, waiting }: RunSummary,
  { approvalId }: TaskAnswer
): Promise<string | undefined> {
  if (approvalId === undefined) return waiting.count === 1 ? waiting.approvals[0]?.approvalId : undefined
  const found = await runs.findApproval(approvalId)
  if (found === undefined || found.run.runId !== runId || found.approval.answer !== null)
    throw badParams('message.parts', 'No such approval waits')
  return approvalId
}

async function requireAnswerable(surface: Surface, { principal }: Call, taskId: string): Promise<RunSummary> {
  const run = await surface.runs.find(taskId)
  if (run === undefined || !(await mayAnswer(surface, run, principal))) throw new A2A_ERR_TASK_NOT_FOUND()
  // Who may answer everyone's approvals reaches tasks of others for this alone.
  if (!reachesOwner(principal, run.owner) && run.status !== 'input-required')
    throw new A2A_ERR_TASK_NOT_FOUND()
  return run
}
