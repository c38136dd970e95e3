import { isDeepStrictEqual } from 'node:util'
import { RUN_ERR_KEY_REUSED, type RunSummary, type StoredTask } from '@svc/registry'
import { A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Message } from '../model/message.ts'
import type { Surface } from '../service/surface.ts'

/** Messages of a task, and characters of their JSON, after which it accepts answers only. */
const MAX_MESSAGES = 100
const MAX_SIZE = 4_194_304

/** Adds a message to its task; false if its id was used before. A run of another surface becomes a task with its first message. */
export async function keepMessage(
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

/** True if a task has the message already. @throws RUN_ERR_KEY_REUSED if it has another one with the same id */
export function hasMessage(messages: readonly Message[], message: Message): boolean {
  const earlier = messages.find(({ messageId }) => messageId === message.messageId)
  if (earlier === undefined) return false
  if (isDeepStrictEqual(earlier, message)) return true
  throw new RUN_ERR_KEY_REUSED()
}

/** Every history of the task repeats its messages. @throws A2A_ERR_UNSUPPORTED */
export function requireCapacity(messages: readonly Message[]): void {
  const size = JSON.stringify(messages).length
  if (messages.length >= MAX_MESSAGES || size >= MAX_SIZE)
    throw new A2A_ERR_UNSUPPORTED('the task has too many messages: it accepts only an answer')
}
