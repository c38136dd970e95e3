import { A2A_ERR_TASK_NOT_FOUND } from '../errors.ts'
import type { TaskPushConfig } from '../model/push.ts'
import type { Call, Requests } from '../model/requests.ts'
import { requirePushes, type Surface } from '../service/surface.ts'
import { requireTask } from '../tasks/task-access.ts'

type Handler<O extends keyof Requests, R> = (surface: Surface, call: Call, request: Requests[O]) => Promise<R>

export const setPushConfig: Handler<'setPushConfig', TaskPushConfig> = async (surface, call, request) => {
  const push = requirePushes(surface)
  const { taskId, ...config } = request
  const run = await requireTask(surface, call, taskId)
  await push.check(config.url, run.owner)
  return push.add(run, config, call)
}

/** The configuration with the id, or the first one. @throws A2A_ERR_TASK_NOT_FOUND */
export const getPushConfig: Handler<'getPushConfig', TaskPushConfig> = async (surface, call, request) => {
  const { taskId, id } = request
  const all = await listPushConfigs(surface, call, { taskId })
  const found = id === undefined ? all[0] : all.find((config) => config.id === id)
  if (found === undefined) throw new A2A_ERR_TASK_NOT_FOUND()
  return found
}

export const listPushConfigs: Handler<'listPushConfigs', TaskPushConfig[]> = async (
  surface,
  call,
  { taskId }
) => {
  const push = requirePushes(surface)
  await requireTask(surface, call, taskId)
  return push.list(taskId)
}

/** Idempotent: deleting an unknown configuration is no error. */
export const deletePushConfig: Handler<'deletePushConfig', null> = async (surface, call, { taskId, id }) => {
  const push = requirePushes(surface)
  await requireTask(surface, call, taskId)
  await push.remove(taskId, id)
  return null
}
