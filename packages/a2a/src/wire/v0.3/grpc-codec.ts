import type { Codec } from '../codec.ts'
import { badParams } from '../decode-params.ts'
import { restCodecV03 } from './rest-codec.ts'

type Fields = Record<string, unknown>

const TASK = /^tasks\/([^/]+)$/
const CONFIG = /^tasks\/([^/]+)\/pushNotificationConfigs\/([^/]+)$/

function idOf({ name, ...params }: Fields): Fields {
  const [, id] = TASK.exec(String(name)) ?? []
  if (id === undefined) throw badParams('name', 'Expected tasks/{id}')
  return { ...params, id }
}

function taskIdOf({ parent, ...params }: Fields): Fields {
  const [, taskId] = TASK.exec(String(parent)) ?? []
  if (taskId === undefined) throw badParams('parent', 'Expected tasks/{id}')
  return { ...params, taskId }
}

function configIdOf({ name }: Fields): Fields {
  const [, taskId, id] = CONFIG.exec(String(name)) ?? []
  if (id === undefined) throw badParams('name', 'Expected tasks/{id}/pushNotificationConfigs/{id}')
  return { taskId, id }
}

const { decode } = restCodecV03

/** Version 0.3 over gRPC: as over HTTP+JSON, but names of resources are in the place of ids. */
export const grpcCodecV03: Codec = {
  ...restCodecV03,
  decode: {
    ...decode,
    get: (params) => decode.get(idOf(params)),
    cancel: (params) => decode.cancel(idOf(params)),
    subscribe: (params) => decode.subscribe(idOf(params)),
    setPushConfig: (params) => decode.setPushConfig(taskIdOf(params)),
    getPushConfig: (params) => decode.getPushConfig(configIdOf(params)),
    listPushConfigs: (params) => decode.listPushConfigs(taskIdOf(params)),
    deletePushConfig: (params) => decode.deletePushConfig(configIdOf(params))
  }
}
