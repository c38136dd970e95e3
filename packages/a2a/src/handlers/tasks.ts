import {
  codeOf,
  createPause,
  estimateLength,
  isTerminalStatus,
  nextTurn,
  type ChangedRunPage,
  type ChangedRunQuery,
  type RunSummary
} from '@svc/contract'
import { formatRunCursor } from '@svc/contract/stores'
import { A2A_ERR_NOT_CANCELABLE, A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Call, ListRequest, Requests, TaskList, TaskPushConfig } from '../model/requests.ts'
import { isInterruptedState, type Task } from '../model/task.ts'
import { requirePushes, type Surface } from '../service/surface.ts'
import { readTask } from '../tasks/read-task.ts'
import { requireTask } from '../tasks/task-access.ts'
import { taskStateOf, toStateQuery } from '../tasks/task-events.ts'
import { openStream, type TaskStream } from '../tasks/task-stream.ts'
import { badParams } from '../wire/decode-params.ts'

/** @throws A2A_ERR_TASK_NOT_FOUND */
export async function get(
  surface: Surface,
  call: Call,
  { id, historyLength }: Requests['get']
): Promise<Task> {
  const run = await requireTask(surface, call, id)
  await call.reserve(run.bytes)
  return readTask(surface, run, call, { historyLength })
}

/** Cancels a task and its run. @throws A2A_ERR_TASK_NOT_FOUND, A2A_ERR_NOT_CANCELABLE */
export async function cancel(surface: Surface, call: Call, { id }: Requests['cancel']): Promise<Task> {
  const run = await requireTask(surface, call, id)
  if (isTerminalStatus(run.status)) throw new A2A_ERR_NOT_CANCELABLE(taskStateOf(run))
  return readTask(surface, await end(surface, run), call)
}

async function end({ runs }: Surface, { runId }: RunSummary): Promise<RunSummary> {
  try {
    return await runs.cancel(runId)
  } catch (err) {
    if (codeOf(err) !== 'RUN_ERR_TERMINAL') throw err
    const run = await runs.find(runId)
    throw new A2A_ERR_NOT_CANCELABLE(run === undefined ? 'gone' : taskStateOf(run))
  }
}

/**
 * Streams a task as it stands, then its changes. Where the version ends subscriptions to waiting tasks, a finished task is
 * streamed too, as one event.
 * @throws A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED
 */
export async function subscribe(
  surface: Surface,
  call: Call,
  { id }: Requests['subscribe']
): Promise<TaskStream> {
  const run = await requireTask(surface, call, id)
  const { endsWhenWaiting } = call
  if (isTerminalStatus(run.status) && !endsWhenWaiting)
    throw new A2A_ERR_UNSUPPORTED(`the task is ${taskStateOf(run)}`)
  return openStream(surface, run, call, {}, endsWhenWaiting ? isInterruptedState : never)
}

function never(): boolean {
  return false
}

/** Characters of JSON after which a page ends. */
const MAX_LENGTH = 1_048_576

/** The caller's own tasks, the last changed first. @throws A2A_ERR_BAD_PARAMS */
export async function list(surface: Surface, call: Call, request: ListRequest): Promise<TaskList> {
  const { contextId, state, changedSince, pageSize, pageToken, historyLength, includeArtifacts } = request
  await nextTurn()
  const { runs, nextCursor, total } = await findRuns(surface, {
    owner: call.principal.sub,
    scope: surface.exposed.scope(),
    limit: pageSize,
    ...(contextId !== undefined && { sessionId: contextId }),
    ...(state !== undefined && toStateQuery(state)),
    ...(changedSince !== undefined && { since: Date.parse(changedSince) }),
    ...(pageToken !== undefined && { cursor: pageToken })
  })
  const pause = createPause()
  const tasks: Task[] = []
  let nextPageToken = nextCursor ?? ''
  let left = MAX_LENGTH
  for (const [index, run] of runs.entries()) {
    const task = await readTask(surface, run, call, { historyLength, includeArtifacts, isWhole: false })
    tasks.push(task)
    left -= estimateLength(task, left)
    await pause()
    if (left > 0 || index === runs.length - 1) continue
    nextPageToken = formatRunCursor({ at: run.updatedAt, runId: run.runId })
    break
  }
  return { tasks, nextPageToken, pageSize, totalSize: total }
}

async function findRuns({ runs }: Surface, query: ChangedRunQuery): Promise<ChangedRunPage> {
  try {
    return await runs.stores.runs.listChanged(query)
  } catch (err) {
    if (codeOf(err) !== 'REG_ERR_BAD_CURSOR') throw err
    throw badParams('pageToken', 'Unknown page token')
  }
}

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
