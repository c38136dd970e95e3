import { codeOf, type RunSummary } from '@svc/contract'
import { RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import { readPresent, requireAllowed, requireRun } from '@svc/surface'
import { answerElicitations, toInputRequests, type InputRequests } from '../inputs/elicitation.ts'
import type { ToolResult } from '../protocol/message.ts'
import { requireTasks, type Call } from '../server/call.ts'
import { credentialsPageOf, type Surface } from '../surface.ts'
import { CallView } from '../tools/call-view.ts'
import { toToolResult } from '../tools/tool-result.ts'

/** A run as a task, as the extension for tasks has it. */
export interface Task {
  readonly taskId: string
  readonly status: 'working' | 'input_required' | 'completed' | 'cancelled'
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** How long it is kept is up to the store. */
  readonly ttlMs: null
  readonly pollIntervalMs: number
}

/** A call that continues as a task. */
export interface TaskResult extends Task {
  readonly resultType: 'task'
}

/** A task with what its status brings. */
export interface DetailedTask extends Task {
  readonly inputRequests?: InputRequests
  /** What the call would have answered. */
  readonly result?: ToolResult & { readonly resultType: 'complete' }
}

/** The result of a call that continues as a task. @throws RUN_ERR_NOT_FOUND */
export async function toTask(surface: Surface, runId: string): Promise<TaskResult> {
  const run = await surface.runs.find(runId)
  if (run === undefined) throw new RUN_ERR_NOT_FOUND(runId)
  return { resultType: 'task', ...describeTask(surface, run) }
}

/** A run as a task, with the inputs that it waits for, or with its result. A failed run is one that completed with an error. */
async function toDetailedTask(surface: Surface, run: RunSummary, opensUrls: boolean): Promise<DetailedTask> {
  const task = describeTask(surface, run)
  const { taskId, status } = task
  if (status === 'working' || status === 'cancelled') return task
  const view = new CallView(credentialsPageOf(surface, taskId, opensUrls))
  for await (const { part } of readPresent(surface.runs.stores, taskId)) view.add(part)
  if (status === 'completed') {
    const result = await toToolResult(surface, taskId, view, true)
    return { ...task, result: { ...result, resultType: 'complete' } }
  }
  const inputRequests = toInputRequests(view.elicitations)
  // The run waits for what only other surfaces can answer.
  return Object.keys(inputRequests).length === 0 ? { ...task, status: 'working' } : { ...task, inputRequests }
}

function describeTask({ settings }: Surface, { runId, status, createdAt, updatedAt }: RunSummary): Task {
  return {
    taskId: runId,
    status: STATUSES[status],
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
    ttlMs: null,
    pollIntervalMs: settings.pollInterval
  }
}

const STATUSES = {
  submitted: 'working',
  working: 'working',
  'input-required': 'input_required',
  completed: 'completed',
  failed: 'completed',
  canceled: 'cancelled'
} as const

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
