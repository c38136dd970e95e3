import type { Codec } from '../codec.ts'
import { decodeParams } from '../decode-params.ts'
import { defined } from '../fields.ts'
import { decodeList } from '../list-params.ts'
import { fromProtoJson } from '../proto-json.ts'
import { encodeCard } from './card.ts'
import { encodeGrpcError, encodeRestError, encodeRpcError, restStatusOf } from './errors.ts'
import { decodeMessage } from './message.ts'
import { decodePushConfig, encodePushConfig } from './push-config.ts'
import * as schemas from './schemas.ts'
import { encodeEvent, encodeTask } from './task.ts'

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
