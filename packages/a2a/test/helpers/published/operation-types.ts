import type { OperationName } from '../../../src/model/requests.ts'
import type { PublishedTypes } from './faults-of.ts'

type Types<V extends keyof PublishedTypes, N extends OperationName> = Readonly<Record<N, PublishedTypes[V]>>

/** What 1.0 answers to an operation, in both bindings. */
export const ANSWERS: Types<'1.0', OperationName> = {
  send: 'SendMessageResponse',
  stream: 'StreamResponse',
  get: 'Task',
  list: 'ListTasksResponse',
  cancel: 'Task',
  subscribe: 'StreamResponse',
  setPushConfig: 'TaskPushNotificationConfig',
  getPushConfig: 'TaskPushNotificationConfig',
  listPushConfigs: 'ListTaskPushNotificationConfigsResponse',
  deletePushConfig: 'Empty',
  extendedCard: 'AgentCard'
}

/** What 0.3 answers over JSON-RPC; `list` is none of its operations. */
export const LEGACY_ANSWERS: Types<'0.3', Exclude<OperationName, 'list'>> = {
  send: 'SendMessageSuccessResponse',
  stream: 'SendStreamingMessageSuccessResponse',
  get: 'GetTaskSuccessResponse',
  cancel: 'CancelTaskSuccessResponse',
  subscribe: 'SendStreamingMessageSuccessResponse',
  setPushConfig: 'SetTaskPushNotificationConfigSuccessResponse',
  getPushConfig: 'GetTaskPushNotificationConfigSuccessResponse',
  listPushConfigs: 'ListTaskPushNotificationConfigSuccessResponse',
  deletePushConfig: 'DeleteTaskPushNotificationConfigSuccessResponse',
  extendedCard: 'GetAuthenticatedExtendedCardSuccessResponse'
}

/** The operations that a remote agent asks for. */
type Asked = 'send' | 'stream' | 'get' | 'cancel' | 'subscribe'

/** The parameters of a request of 1.0. */
export const REQUESTS: Types<'1.0', Asked> = {
  send: 'SendMessageRequest',
  stream: 'SendMessageRequest',
  get: 'GetTaskRequest',
  cancel: 'CancelTaskRequest',
  subscribe: 'SubscribeToTaskRequest'
}

/** A request of 0.2 or 0.3 over JSON-RPC, whole. */
export const LEGACY_REQUESTS = {
  send: 'SendMessageRequest',
  stream: 'SendStreamingMessageRequest',
  get: 'GetTaskRequest',
  cancel: 'CancelTaskRequest',
  subscribe: 'TaskResubscriptionRequest'
} satisfies Types<'0.2' | '0.3', Asked>
