import type { TaskState } from '../../model/task.ts'
import type { Codec } from '../codec.ts'
import { badParams, decodeParams } from '../decode-params.ts'
import { defined } from '../fields.ts'
import { fromProtoJson } from '../proto-json.ts'
import { encodeCard } from './card.ts'
import { encodeRestError, encodeRpcError } from './errors.ts'
import { decodeMessage } from './message.ts'
import { decodePushConfig, encodePushConfig } from './push-config.ts'
import * as schemas from './schemas.ts'
import { decodeState, encodeEvent, encodeTask } from './task.ts'

const toSend = decodeParams(schemas.SendMessageRequestSchema)
const toGet = decodeParams(schemas.GetTaskRequestSchema)
const toList = decodeParams(schemas.ListTasksRequestSchema)
const toTaskId = decodeParams(schemas.TaskIdSchema)
const toPushConfig = decodeParams(schemas.PushConfigSchema)
const toPushConfigId = decodeParams(schemas.PushConfigIdSchema)
const toListPushConfigs = decodeParams(schemas.ListPushConfigsSchema)
const toNothing = decodeParams(schemas.EmptySchema)

const decodeSend: Codec['decode']['send'] = (params) => {
  const { message, configuration = {}, metadata } = toSend(fromProtoJson(params))
  const { historyLength, taskPushNotificationConfig: push, returnImmediately } = configuration
  return {
    message: decodeMessage(message),
    wait: returnImmediately !== true,
    ...defined({ historyLength, metadata, push: push && decodePushConfig(push) })
  }
}

const decodeList: Codec['decode']['list'] = (params) => {
  const { contextId, status, pageSize, pageToken, historyLength, ...rest } = toList(fromProtoJson(params))
  return {
    pageSize: pageSize ?? 50,
    includeArtifacts: rest.includeArtifacts ?? false,
    ...defined({
      historyLength,
      contextId: contextId || undefined,
      pageToken: pageToken || undefined,
      state: decodeFilter(status),
      changedSince: requireTime(rest.statusTimestampAfter)
    })
  }
}

// By its pattern alone it may be in a month that there is not.
function requireTime(time: string | undefined): string | undefined {
  if (time !== undefined && Number.isNaN(Date.parse(time)))
    throw badParams('statusTimestampAfter', 'Expected a time that exists')
  return time
}

// The unspecified state filters nothing, like all that is unspecified in a proto.
function decodeFilter(name: string | undefined): TaskState | undefined {
  if (name === undefined || name === '') return undefined
  const state = decodeState(name)
  if (state === undefined) throw badParams('status', 'Expected the name of a TaskState')
  return state === 'unknown' ? undefined : state
}

const decodeTaskId = (params: unknown) => {
  const { id } = toTaskId(fromProtoJson(params))
  return { id }
}

/** Version 1.0.x, the same in both bindings. */
export const codecV10: Codec = {
  version: '1.0',
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
    send: (task) => ({ task: encodeTask(task) }),
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
  encodeRestError
}
