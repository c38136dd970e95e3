import { extendedCard } from './handlers/extended-card.ts'
import {
  cancel,
  deletePushConfig,
  get,
  getPushConfig,
  list,
  listPushConfigs,
  setPushConfig,
  subscribe
} from './handlers/tasks.ts'
import { send, stream } from './handlers/messages.ts'
import type { Call, OperationName, Requests, Results } from './model/requests.ts'
import type { Surface } from './service/surface.ts'
import type { TaskStream } from './tasks/task-stream.ts'
import type { ProtocolVersion } from './wire/versions.ts'

/** Operations that answer with a stream of events. */
export type StreamingName = 'stream' | 'subscribe'

/** `METHOD /path`, below the base path; a `{name}` in it is a parameter. */
export type Route = `${'GET' | 'POST' | 'DELETE'} /${string}`

/** An operation: its handler, and its names in each version. */
export interface Operation<O extends OperationName> {
  handle(
    surface: Surface,
    call: Call,
    request: Requests[O]
  ): Promise<O extends StreamingName ? TaskStream : Results[O]>
  readonly rpc: Readonly<Record<ProtocolVersion, string>>
  readonly rest: Readonly<Record<ProtocolVersion, readonly Route[]>>
  /** Undefined: the proto of the version has no such method. */
  readonly grpc: Readonly<Record<ProtocolVersion, string | undefined>>
}

/** The table of the protocol: every operation, its handler and its names. */
export const OPERATIONS: { readonly [O in OperationName]: Operation<O> } = {
  send: {
    handle: send,
    rpc: { '0.3': 'message/send', '1.0': 'SendMessage' },
    rest: { '0.3': ['POST /v1/message:send'], '1.0': ['POST /message:send'] },
    grpc: { '0.3': 'SendMessage', '1.0': 'SendMessage' }
  },
  stream: {
    handle: stream,
    rpc: { '0.3': 'message/stream', '1.0': 'SendStreamingMessage' },
    rest: { '0.3': ['POST /v1/message:stream'], '1.0': ['POST /message:stream'] },
    grpc: { '0.3': 'SendStreamingMessage', '1.0': 'SendStreamingMessage' }
  },
  get: {
    handle: get,
    rpc: { '0.3': 'tasks/get', '1.0': 'GetTask' },
    rest: { '0.3': ['GET /v1/tasks/{id}'], '1.0': ['GET /tasks/{id}'] },
    grpc: { '0.3': 'GetTask', '1.0': 'GetTask' }
  },
  list: {
    handle: list,
    rpc: { '0.3': 'tasks/list', '1.0': 'ListTasks' },
    rest: { '0.3': ['GET /v1/tasks'], '1.0': ['GET /tasks'] },
    grpc: { '0.3': undefined, '1.0': 'ListTasks' }
  },
  cancel: {
    handle: cancel,
    rpc: { '0.3': 'tasks/cancel', '1.0': 'CancelTask' },
    rest: { '0.3': ['POST /v1/tasks/{id}:cancel'], '1.0': ['POST /tasks/{id}:cancel'] },
    grpc: { '0.3': 'CancelTask', '1.0': 'CancelTask' }
  },
  // The specification's text says POST, its protos GET.
  subscribe: {
    handle: subscribe,
    rpc: { '0.3': 'tasks/resubscribe', '1.0': 'SubscribeToTask' },
    rest: {
      '0.3': ['POST /v1/tasks/{id}:subscribe', 'GET /v1/tasks/{id}:subscribe'],
      '1.0': ['POST /tasks/{id}:subscribe', 'GET /tasks/{id}:subscribe']
    },
    grpc: { '0.3': 'TaskSubscription', '1.0': 'SubscribeToTask' }
  },
  setPushConfig: {
    handle: setPushConfig,
    rpc: { '0.3': 'tasks/pushNotificationConfig/set', '1.0': 'CreateTaskPushNotificationConfig' },
    rest: {
      '0.3': ['POST /v1/tasks/{taskId}/pushNotificationConfigs'],
      '1.0': ['POST /tasks/{taskId}/pushNotificationConfigs']
    },
    grpc: { '0.3': 'CreateTaskPushNotificationConfig', '1.0': 'CreateTaskPushNotificationConfig' }
  },
  getPushConfig: {
    handle: getPushConfig,
    rpc: { '0.3': 'tasks/pushNotificationConfig/get', '1.0': 'GetTaskPushNotificationConfig' },
    rest: {
      '0.3': ['GET /v1/tasks/{taskId}/pushNotificationConfigs/{id}'],
      '1.0': ['GET /tasks/{taskId}/pushNotificationConfigs/{id}']
    },
    grpc: { '0.3': 'GetTaskPushNotificationConfig', '1.0': 'GetTaskPushNotificationConfig' }
  },
  listPushConfigs: {
    handle: listPushConfigs,
    rpc: { '0.3': 'tasks/pushNotificationConfig/list', '1.0': 'ListTaskPushNotificationConfigs' },
    rest: {
      '0.3': ['GET /v1/tasks/{taskId}/pushNotificationConfigs'],
      '1.0': ['GET /tasks/{taskId}/pushNotificationConfigs']
    },
    grpc: { '0.3': 'ListTaskPushNotificationConfig', '1.0': 'ListTaskPushNotificationConfigs' }
  },
  deletePushConfig: {
    handle: deletePushConfig,
    rpc: { '0.3': 'tasks/pushNotificationConfig/delete', '1.0': 'DeleteTaskPushNotificationConfig' },
    rest: {
      '0.3': ['DELETE /v1/tasks/{taskId}/pushNotificationConfigs/{id}'],
      '1.0': ['DELETE /tasks/{taskId}/pushNotificationConfigs/{id}']
    },
    grpc: { '0.3': 'DeleteTaskPushNotificationConfig', '1.0': 'DeleteTaskPushNotificationConfig' }
  },
  extendedCard: {
    handle: extendedCard,
    rpc: { '0.3': 'agent/getAuthenticatedExtendedCard', '1.0': 'GetExtendedAgentCard' },
    rest: { '0.3': ['GET /v1/card'], '1.0': ['GET /extendedAgentCard'] },
    grpc: { '0.3': 'GetAgentCard', '1.0': 'GetExtendedAgentCard' }
  }
}

/** True for operations that answer with a stream of events. */
export function isStreaming(name: OperationName): name is StreamingName {
  return name === 'stream' || name === 'subscribe'
}

/** Splits a route into its method and its path. */
export function splitRoute(route: Route): [method: 'GET' | 'POST' | 'DELETE', path: string] {
  const [method, path] = route.split(' ') as ['GET' | 'POST' | 'DELETE', string]
  return [method, path]
}

export const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[]
