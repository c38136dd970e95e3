import type { RunSummary } from '@svc/contract'
import type { Call, SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { requireRun } from './join-task.ts'
import { hasStarted } from './start-key.ts'

/** The request for a task that reads no more messages, as one that begins a task of its own after it. @throws A2A_ERR_TASK_NOT_FOUND */
export async function asOwnTask(surface: Surface, request: SendRequest): Promise<SendRequest> {
  return toOwnTask(request, await requireRun(surface, request.message.taskId!))
}

/** True if a message to a task that has ended is repeated, and began a task of its own before. */
export async function hasOwnTask(
  surface: Surface,
  call: Call,
  request: SendRequest,
  run: RunSummary
): Promise<boolean> {
  return hasStarted(surface, call, toOwnTask(request, run).message, run)
}

function toOwnTask(request: SendRequest, { name, sessionId: contextId }: RunSummary): SendRequest {
  const { taskId: _, ...message } = request.message
  const metadata = { ...message.metadata, agentName: name, whenBusy: 'queue' }
  return { ...request, message: { ...message, contextId, metadata } }
}
