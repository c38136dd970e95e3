import type { Message } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { readAgentName, type FindLast } from './choose-agent.ts'
import { takesText } from './find-answered.ts'
import { withoutContent } from './kept-message.ts'
import { readAnswer } from './read-answer.ts'
import { hasStarted } from './start-key.ts'
import { hasMessage, toTaskMessage } from './task-messages.ts'
import { withoutBytes } from './without-bytes.ts'

/**
 * The request for a message that names a context only, as one to the last task there, if that waits for nothing but such an answer, or for
 * credentials: clients that keep a context, but no tasks, answer so. Undefined for every other message, and for one that names another agent, or says
 * what it does while a task is under way.
 * @throws A2A_ERR_BAD_PARAMS
 */
export async function asAnswer(
  surface: Surface,
  call: Call,
  request: SendRequest,
  findLast: FindLast
): Promise<SendRequest | undefined> {
  const { message } = request
  const text = readText(request)
  if (text === undefined) return undefined
  const { exposed, runs } = surface
  const last = await findLast()
  if (last === undefined || exposed.find(last.agentName) === undefined) return undefined
  if ((readAgentName(request) ?? last.agentName) !== last.agentName) return undefined
  const answer = { ...message, taskId: last.taskId }
  const run = await runs.find(last.taskId)
  const isAsked = run?.status === 'input-required' && (await takesText(run, text))
  // A repetition of the message that began the task is no answer to what the task asks.
  const isAnswer = isAsked
    ? !(await hasStarted(surface, call, message, last))
    : isRepeated(surface, call, answer, last.messages)
  return isAnswer ? { ...request, message: answer } : undefined
}

// Undefined for a message of another kind.
function readText({ message, metadata }: SendRequest): string | undefined {
  const answer = readAnswer(message.parts)
  if (answer === undefined || !('text' in answer)) return undefined
  const { whenBusy, afterTurn } = { ...metadata, ...message.metadata }
  return whenBusy === undefined && afterTurn === undefined ? answer.text : undefined
}

function isRepeated(
  surface: Surface,
  call: Call,
  answer: SendRequest['message'],
  messages: readonly unknown[]
): boolean {
  if (answer.messageId === undefined) return false
  const forms = [withoutBytes(answer as Message), withoutContent(answer as Message)]
  return forms.some((stored) =>
    hasMessage(messages as Message[], toTaskMessage(surface, call, answer, stored))
  )
}
