import {
  AgentCard,
  CancelTaskRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig
} from '@a2a-js/sdk'
import type { OperationName } from '../../src/model/requests.ts'

interface Codec {
  fromJSON(value: unknown): unknown
  toJSON(message: never): unknown
}

type Messages = Readonly<Partial<Record<OperationName, Codec>>>

/** What the official SDK reads the answers of 1.0 as, by code that is generated from the published proto. */
const ANSWERS: Messages = {
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

/** And the requests. */
const REQUESTS: Messages = {
  send: SendMessageRequest,
  stream: SendMessageRequest,
  get: GetTaskRequest,
  cancel: CancelTaskRequest,
  subscribe: SubscribeToTaskRequest
}

/** Where an answer says what the proto cannot: what is lost when it is read and written again. */
export function lostByProto(name: OperationName, answer: unknown): string[] {
  return lostBy(ANSWERS[name], answer)
}

/** Where a request does. */
export function lostFromRequest(name: OperationName, request: unknown): string[] {
  return lostBy(REQUESTS[name], request)
}

/** An answer as the official SDK understands it. */
export function readByProto(name: OperationName, answer: unknown): unknown {
  return ANSWERS[name]?.fromJSON(answer)
}

function lostBy(codec: Codec | undefined, value: unknown): string[] {
  return codec === undefined ? [] : [...losses(value, codec.toJSON(codec.fromJSON(value) as never), '')]
}

function* losses(said: unknown, kept: unknown, path: string): Iterable<string> {
  if (typeof said !== 'object' || said === null) {
    // What a proto has where nothing is set is not written; and this code takes a Value that is null for one that is not set.
    const isUnset = kept === undefined && [null, '', false, 0].includes(said as null)
    if (!isUnset && said !== kept) yield `${path}: ${JSON.stringify(said)} became ${JSON.stringify(kept)}`
    return
  }
  for (const [key, value] of Object.entries(said))
    yield* losses(value, (kept as Record<string, unknown> | undefined)?.[key], `${path}/${key}`)
}
