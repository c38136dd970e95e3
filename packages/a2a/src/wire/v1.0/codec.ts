import { defined } from '@svc/contract'
import type { TaskPushConfig } from '../../model/requests.ts'
import type { Task, TaskEvent, TaskStatus } from '../../model/task.ts'
import type { Codec } from '../codec.ts'
import { decodeParams } from '../decode-params.ts'
import { decodeList } from '../list-params.ts'
import { fromProtoJson } from '../proto-json.ts'
import { STATES } from '../states.ts'
import { encodeCard } from './card.ts'
import { encodeGrpcError, encodeRestError, encodeRpcError, restStatusOf } from './errors.ts'
import * as schemas from './message.ts'
import { decodeMessage, encodeMessage } from './message.ts'

interface WirePushConfig {
  id?: string | undefined
  url: string
  token?: string | undefined
  authentication?: { scheme: string; credentials?: string | undefined } | undefined
}

/** Decodes a configuration, except for its task. */
function decodePushConfig({ id, url, token, authentication }: WirePushConfig) {
  const auth = authentication && {
    schemes: [authentication.scheme],
    ...defined({ credentials: authentication.credentials })
  }
  return { url, ...defined({ id, token, authentication: auth }) }
}

function encodePushConfig({ authentication, ...config }: TaskPushConfig): object {
  const { schemes = [], credentials } = authentication ?? {}
  return {
    ...config,
    ...(authentication && { authentication: { scheme: schemes[0] ?? '', credentials } })
  }
}

function encodeTask({ id, contextId, status, artifacts, history, metadata }: Task): object {
  return {
    id,
    contextId,
    status: encodeStatus(status),
    artifacts,
    history: history?.map(encodeMessage),
    metadata
  }
}

function encodeStatus({ state, message, timestamp }: TaskStatus): object {
  return { state: STATES[state], message: message && encodeMessage(message), timestamp }
}

/** An event as a StreamResponse. */
function encodeEvent(event: TaskEvent): object {
  switch (event.type) {
    case 'task':
      return { task: encodeTask(event.task) }
    case 'message':
      return { message: encodeMessage(event.message) }
    case 'status': {
      const { taskId, contextId, status } = event
      return { statusUpdate: { taskId, contextId, status: encodeStatus(status) } }
    }
    default: {
      const { taskId, contextId, artifact, append, lastChunk } = event
      return { artifactUpdate: { taskId, contextId, artifact, append, lastChunk } }
    }
  }
}

const toSend = decodeParams(schemas.SendMessageRequestSchema)
const toGet = decodeParams(schemas.GetTaskRequestSchema)
const toTaskId = decodeParams(schemas.TaskIdSchema)
const toPushConfig = decodeParams(schemas.PushConfigSchema)
const toPushConfigId = decodeParams(schemas.PushConfigIdSchema)
const toListPushConfigs = decodeParams(schemas.ListPushConfigsSchema)
const toNothing = decodeParams(schemas.EmptySchema)

const decodeSend: Codec['decode']['send'] = (params) => {
  const { message, configuration = {}, metadata } = toSend(fromProtoJson(params))
  const {
    historyLength,
    acceptedOutputModes: modes,
    taskPushNotificationConfig: push,
    returnImmediately
  } = configuration
  return {
    message: decodeMessage(message),
    wait: returnImmediately !== true,
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

/** Version 1.0.x, the same on both bindings. */
export const codecV10: Codec = {
  version: '1.0',
  mediaType: 'application/a2a+json',
  extensionHeader: 'a2a-extensions',
  hasTenants: true,
  endsWhenWaiting: false,
  hasNoCardError: false,
  streamsRefusals: false,
  pushes: 'event',
  extendedCardPath: undefined,
  grpcService: 'lf.a2a.v1.A2AService',
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
      const { taskId, ...config } = toPushConfig(fromProtoJson(params))
      return { taskId, ...decodePushConfig(config) }
    },
    getPushConfig(params) {
      const { taskId, id } = toPushConfigId(fromProtoJson(params))
      return { taskId, id }
    },
    listPushConfigs(params) {
      const { taskId } = toListPushConfigs(fromProtoJson(params))
      return { taskId }
    },
    deletePushConfig(params) {
      const { taskId, id } = toPushConfigId(fromProtoJson(params))
      return { taskId, id }
    },
    extendedCard(params) {
      toNothing(fromProtoJson(params))
      return {}
    }
  },
  tenantOf: ({ tenant }) => (tenant as string | null | undefined) || undefined,
  encode: {
    send: encodeEvent,
    stream: encodeEvent,
    get: encodeTask,
    list: ({ tasks, ...page }) => ({ tasks: tasks.map(encodeTask), ...page }),
    cancel: encodeTask,
    subscribe: encodeEvent,
    setPushConfig: encodePushConfig,
    getPushConfig: encodePushConfig,
    listPushConfigs: (configs) => ({ configs: configs.map(encodePushConfig), nextPageToken: '' }),
    deletePushConfig: () => ({}),
    extendedCard: encodeCard
  },
  encodeEvent,
  encodeCard,
  encodeRpcError,
  restStatusOf,
  encodeRestError,
  encodeGrpcError
}
