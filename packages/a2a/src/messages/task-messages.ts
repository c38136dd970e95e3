import { isDeepStrictEqual } from 'node:util'
import { randomId, type RunSummary, type StoredTask } from '@svc/contract'
import { A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Message } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { withoutKeys } from './kept-message.ts'
import { toStartKey } from './start-key.ts'

/** Messages of a task, and characters of their JSON, after which it accepts answers only. */
const MAX_MESSAGES = 100
const MAX_SIZE = 4_194_304

/** The key under which a task stores its first message. */
export function firstKeyOf(taskId: string): string {
  return `first ${taskId}`
}

/** A message to a task, as the task stores it. */
export interface TaskMessage {
  readonly stored: Message
  /** The same for a repetition of the message; else unique. */
  readonly key: string
  /** True if a repetition of the message is the same message. */
  readonly isRepeatable: boolean
}

/** Prepares a message for its task. @param stored the message without what is not stored of it */
export function toTaskMessage(
  surface: Surface,
  call: Call,
  message: SendRequest['message'],
  stored: Message
): TaskMessage {
  const startKey = toStartKey(message, surface, call)
  return {
    stored: withoutKeys(stored, call),
    key: startKey?.key ?? randomId(),
    isRepeatable: startKey !== undefined
  }
}

/** Adds a message to its task; false if it is there already. A run of another surface becomes a task with its first message. */
export async function keepMessage(
  { tasks }: Surface,
  { runId: taskId, sessionId: contextId, registry, owner, name: agentName, createdAt }: RunSummary,
  known: StoredTask | undefined,
  { key, stored }: TaskMessage
): Promise<boolean> {
  if (known !== undefined) return tasks.addMessage(taskId, key, stored)
  const task = { taskId, contextId, registry, owner, agentName, createdAt, messages: [stored] }
  return (await tasks.create(task, key)) === taskId
}

/** True if a task has the message already: it is repeated. */
export function hasMessage(messages: readonly Message[], { stored, isRepeatable }: TaskMessage): boolean {
  return isRepeatable && messages.some((each) => isDeepStrictEqual(each, stored))
}

/** Every history of the task repeats its messages. @throws A2A_ERR_UNSUPPORTED */
export function requireCapacity(messages: readonly Message[]): void {
  const size = JSON.stringify(messages).length
  if (messages.length >= MAX_MESSAGES || size >= MAX_SIZE)
    throw new A2A_ERR_UNSUPPORTED('the task has too many messages: it accepts only an answer')
}
