import {
  AgentCard,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig
} from '@a2a-js/sdk'
import type { OperationName } from '../../src/model/requests.ts'

interface Codec {
  fromJSON(value: unknown): unknown
  toJSON(message: never): unknown
}

/** What the official SDK reads the answers of 1.0 as, by code that is generated from the published proto. */
const MESSAGES: Readonly<Partial<Record<OperationName, Codec>>> = {
  send: SendMessageResponse,
  stream: StreamResponse,
  get: Task,
  list: ListTasksResponse,
  cancel: Task,
  subscribe: StreamResponse,
  setPushConfig: TaskPushNotificationConfig,
  getPushConfig: TaskPushNotificationConfig,
  listPushConfigs: ListTaskPushNotificationConfigsResponse,
  extendedCard: AgentCard
}

/** Where an answer says what the proto cannot: what is lost when it is read and written again. */
export function lostByProto(name: OperationName, answer: unknown): string[] {
  const codec = MESSAGES[name]
  if (codec === undefined) return []
  return [...losses(answer, codec.toJSON(codec.fromJSON(answer) as never), '')]
}

function* losses(said: unknown, kept: unknown, path: string): Iterable<string> {
  if (typeof said !== 'object' || said === null) {
    // What a proto has where nothing is set is not written.
    const isUnset = kept === undefined && (said === '' || said === false || said === 0)
    if (!isUnset && said !== kept) yield `${path}: ${JSON.stringify(said)} became ${JSON.stringify(kept)}`
    return
  }
  for (const [key, value] of Object.entries(said))
    yield* losses(value, (kept as Record<string, unknown> | undefined)?.[key], `${path}/${key}`)
}
