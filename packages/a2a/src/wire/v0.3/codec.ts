import type { Static } from '@sinclair/typebox'
import { defined } from '@svc/contract'
import type { Artifact } from '../../model/message.ts'
import type { TaskPushConfig } from '../../model/requests.ts'
import {
  isInterruptedState,
  isTerminalState,
  type Task,
  type TaskEvent,
  type TaskState,
  type TaskStatus
} from '../../model/task.ts'
import type { Codec } from '../codec.ts'
import { decodeParams } from '../decode-params.ts'
import { decodeList } from '../list-params.ts'
import { fromProtoJson } from '../proto-json.ts'
import { encodeCard } from './card.ts'
import { encodeGrpcError, encodeRestError, encodeRpcError } from './errors.ts'
import * as schemas from './message.ts'
import { decodeMessage, encodeMessage, encodePart, type PushConfigSchema } from './message.ts'

/** Decodes a configuration; it does not name its task. */
function decodePushConfig({ id, url, token, authentication }: Static<typeof PushConfigSchema>) {
  const auth = authentication && {
    schemes: authentication.schemes,
    ...defined({ credentials: authentication.credentials })
  }
  return { url, ...defined({ id, token, authentication: auth }) }
}

function encodePushConfig({ taskId, ...pushNotificationConfig }: TaskPushConfig): object {
  return { taskId, pushNotificationConfig }
}

function encodeTask({ id, contextId, status, artifacts, history, metadata }: Task): object {
  return {
    kind: 'task',
    id,
    contextId,
    status: encodeStatus(status),
    artifacts: artifacts?.map(encodeArtifact),
    history: history?.map(encodeMessage),
    metadata
  }
}

function encodeStatus({ state, message, timestamp }: TaskStatus): object {
  return { state, message: message && encodeMessage(message), timestamp }
}

function encodeArtifact({ artifactId, name, description, parts, metadata }: Artifact): object {
  return { artifactId, name, description, parts: parts.map(encodePart), metadata }
}

/** True if a status is the last event of a stream. */
export function isFinal(state: TaskState): boolean {
  return isTerminalState(state) || isInterruptedState(state)
}

/** An event, discriminated by its `kind`. */
function encodeEvent(event: TaskEvent): object {
  switch (event.type) {
    case 'task':
      return encodeTask(event.task)
    case 'message':
      return encodeMessage(event.message)
    case 'status': {
      const { taskId, contextId, status } = event
      const final = isFinal(status.state)
      return { kind: 'status-update', taskId, contextId, status: encodeStatus(status), final }
    }
    default: {
      const { taskId, contextId, artifact, append, lastChunk } = event
      return {
        kind: 'artifact-update',
        taskId,
        contextId,
        artifact: encodeArtifact(artifact),
        append,
        lastChunk
      }
    }
  }
}

const toSend = decodeParams(schemas.MessageSendParamsSchema)
const toGet = decodeParams(schemas.TaskQueryParamsSchema)
const toTaskId = decodeParams(schemas.TaskIdParamsSchema)
const toPushConfig = decodeParams(schemas.TaskPushConfigSchema)
const toGetPushConfig = decodeParams(schemas.GetPushConfigParamsSchema)
const toDeletePushConfig = decodeParams(schemas.DeletePushConfigParamsSchema)

const decodeSend: Codec['decode']['send'] = (params) => {
  const { message, configuration = {}, metadata } = toSend(fromProtoJson(params))
  const { historyLength, acceptedOutputModes: modes, pushNotificationConfig: push, blocking } = configuration
  return {
    message: decodeMessage(message),
    wait: blocking !== false,
    ...defined({
      historyLength,
      // An empty list restricts nothing.
      acceptedOutputModes: modes?.length ? modes : undefined,
      metadata,
      push: push && decodePushConfig(push)
    })
  }
}

const decodeTaskId = (params: unknown) => {
  const { id } = toTaskId(fromProtoJson(params))
  return { id }
}

/** Versions 0.2.x and 0.3 over JSON-RPC, where `kind` discriminates parts and events. */
export const codecV03: Codec = {
  version: '0.3',
  mediaType: undefined,
  extensionHeader: 'x-a2a-extensions',
  hasTenants: false,
  endsWhenWaiting: true,
  hasNoCardError: true,
  streamsRefusals: true,
  pushes: 'task',
  // Of 0.2: https://a2a-protocol.org/v0.2.6/specification/#710-agentauthenticatedextendedcard
  extendedCardPath: '/agent/authenticatedExtendedCard',
  grpcService: 'a2a.v1.A2AService',
  decode: {
    send: decodeSend,
    stream: decodeSend,
    get(params) {
      const { id, historyLength } = toGet(fromProtoJson(params))
      return { id, ...defined({ historyLength }) }
    },
    list: decodeList,
    cancel: decodeTaskId,
    subscribe: decodeTaskId,
    setPushConfig(params) {
      const { taskId, pushNotificationConfig } = toPushConfig(fromProtoJson(params))
      return { taskId, ...decodePushConfig(pushNotificationConfig) }
    },
    getPushConfig(params) {
      const { id: taskId, pushNotificationConfigId: id } = toGetPushConfig(fromProtoJson(params))
      return { taskId, ...defined({ id }) }
    },
    listPushConfigs(params) {
      const { id: taskId } = toTaskId(fromProtoJson(params))
      return { taskId }
    },
    deletePushConfig(params) {
      const { id: taskId, pushNotificationConfigId: id } = toDeletePushConfig(fromProtoJson(params))
      return { taskId, id }
    },
    extendedCard: () => ({})
  },
  tenantOf: () => undefined,
  encode: {
    send: encodeEvent,
    stream: encodeEvent,
    get: encodeTask,
    list: ({ tasks, ...page }) => ({ tasks: tasks.map(encodeTask), ...page }),
    cancel: encodeTask,
    subscribe: encodeEvent,
    setPushConfig: encodePushConfig,
    getPushConfig: encodePushConfig,
    listPushConfigs: (configs) => configs.map(encodePushConfig),
    deletePushConfig: () => null,
    extendedCard: encodeCard
  },
  encodeEvent,
  encodeCard,
  encodeRpcError,
  restStatusOf: ({ httpStatus }) => httpStatus,
  encodeRestError,
  encodeGrpcError
}
