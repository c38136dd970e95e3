import { randomUUID } from 'node:crypto'
import { isTerminalStatus, mayAnswer, reachesOwner, toPendingApprovals, type StoredRun } from '@svc/registry'
import { A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Message } from '../model/message.ts'
import type { SendRequest } from '../model/requests.ts'
import type { Call, Surface } from '../surface.ts'
import { badParams } from '../wire/decode-params.ts'
import { readAgentName } from './choose-agent.ts'
import { readAnswer } from './read-answer.ts'

/**
 * Takes a message to a task that waits for input; one that is no answer keeps it waiting.
 * @throws A2A_ERR_TASK_NOT_FOUND, A2A_ERR_BAD_PARAMS, A2A_ERR_UNSUPPORTED
 */
export async function answerTask(surface: Surface, call: Call, request: SendRequest): Promise<StoredRun> {
  const { message } = request
  const run = await requireAnswerable(surface, call, message.taskId!)
  const name = readAgentName(request)
  if (name !== undefined && name !== run.name)
    throw badParams('message.metadata.agentName', `The task is one of "${run.name}"`)
  if (message.contextId !== undefined && message.contextId !== run.sessionId)
    throw badParams('message.contextId', 'The task is of another context')

  const messageId = message.messageId ?? randomUUID()
  const stored: Message = { ...message, messageId }
  const isKnown = (await surface.tasks.get(run.runId)) !== undefined
  if (isTerminalStatus(run.status) || run.status !== 'input-required') {
    if (isKnown && (await wasSaid(surface, run.runId, messageId))) return run
    throw new A2A_ERR_UNSUPPORTED(
      isTerminalStatus(run.status) ? `the task is ${run.status}` : 'the task does not wait for a message'
    )
  }
  // The same message twice is one answer.
  if (isKnown && !(await surface.tasks.addMessage(run.runId, messageId, stored))) return run
  return answer(surface, run, message.parts)
}

async function wasSaid({ tasks }: Surface, taskId: string, messageId: string): Promise<boolean> {
  const said = (await tasks.get(taskId))?.messages as Message[] | undefined
  return said?.some((message) => message.messageId === messageId) ?? false
}

async function answer(surface: Surface, run: StoredRun, parts: Message['parts']): Promise<StoredRun> {
  const given = readAnswer(parts)
  if (given === undefined) return run
  const { approvalId, ...outcome } = given
  const waiting = toPendingApprovals(run)
  const asked = approvalId === undefined ? waiting[0] : waiting.find((each) => each.approvalId === approvalId)
  if (asked === undefined) throw badParams('message.parts', 'No such approval waits')
  return surface.runs.answer(asked.approvalId, outcome)
}

async function requireAnswerable(surface: Surface, { principal }: Call, taskId: string): Promise<StoredRun> {
  const run = await surface.runs.get(taskId)
  if (run === undefined || !(await mayAnswer(surface, run, principal))) throw new A2A_ERR_TASK_NOT_FOUND()
  // Who may answer everyone's approvals reaches tasks of others for this alone.
  if (!reachesOwner(principal, run.owner) && run.status !== 'input-required')
    throw new A2A_ERR_TASK_NOT_FOUND()
  return run
}
