import { codeOf, isTerminalStatus, type RunSummary } from '@svc/contract'
import { A2A_ERR_NOT_CANCELABLE, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Call, Requests } from '../model/requests.ts'
import { isInterruptedState, type Task } from '../model/task.ts'
import type { Surface } from '../service/surface.ts'
import { readTask } from '../tasks/read-task.ts'
import { requireTask } from '../tasks/task-access.ts'
import { taskStateOf } from '../tasks/task-state.ts'
import { openStream, type TaskStream } from '../tasks/task-stream.ts'

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
