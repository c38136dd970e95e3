import { codeOf, type RunSummary } from '@svc/contract'
import { requireAllowed, requireRun } from '@svc/surface'
import { answerElicitations } from '../inputs/answer-elicitations.ts'
import { type Call, requireTasks } from '../server/call.ts'
import type { Surface } from '../surface.ts'
import { toDetailedTask, type DetailedTask } from './task.ts'

interface TaskParams {
  /** That of the run. */
  readonly taskId: string
}

/** `tasks/get`. @throws RpcError, RUN_ERR_NOT_FOUND */
export async function getTask(surface: Surface, call: Call, params: TaskParams): Promise<DetailedTask> {
  const run = await requireTask(surface, call, params)
  await call.exchange.reserve(call.principal.sub, run.bytes)
  return toDetailedTask(surface, run, call.client.elicits.url)
}

/** `tasks/update`: answers what the run waits for. @throws RpcError, RUN_ERR_NOT_FOUND, RUN_ERR_BAD_INPUT */
export async function updateTask(
  surface: Surface,
  call: Call,
  { inputResponses = {}, ...params }: TaskParams & { readonly inputResponses?: Record<string, unknown> }
): Promise<object> {
  const { runId } = await requireTask(surface, call, params)
  await answerElicitations(surface, call.principal, runId, inputResponses)
  return {}
}

/** `tasks/cancel`, which a run that has ended passes over. @throws RpcError, RUN_ERR_NOT_FOUND, MCP_ERR_FORBIDDEN */
export async function cancelTask(surface: Surface, call: Call, params: TaskParams): Promise<object> {
  const { runId, kind, name } = await requireTask(surface, call, params)
  await requireAllowed(surface, call.principal, 'run', { kind, name })
  await surface.runs.cancel(runId).catch((err: unknown) => {
    if (codeOf(err) !== 'RUN_ERR_TERMINAL') throw err
  })
  return {}
}

async function requireTask(
  surface: Surface,
  { principal, client }: Call,
  { taskId }: TaskParams
): Promise<RunSummary> {
  requireTasks(client)
  return requireRun(surface, taskId, principal)
}
