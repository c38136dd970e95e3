import {
  codeOf,
  createPause,
  isTerminalStatus,
  loadResult,
  RunResultBuilder,
  type RunEngine,
  type RunResult,
  type RunSummary,
  type StoredTask,
  type TaskStore
} from '@svc/registry'
import type { Message } from '../model/message.ts'
import { toTimestamp, type Task, type TaskStatus } from '../model/task.ts'
import { approvalMessage, errorMessage, readAsked } from './agent-messages.ts'
import { toArtifacts } from './artifacts.ts'
import { readHistory } from './history.ts'
import { TaskEvents } from './task-events.ts'

/** Where tasks are read from. */
export interface TaskSource {
  readonly runs: RunEngine
  readonly tasks: TaskStore
}

/** The record of a task's run. */
export type TaskRun = Pick<
  RunSummary,
  'runId' | 'sessionId' | 'name' | 'status' | 'createdAt' | 'updatedAt' | 'error' | 'waiting' | 'bytes'
>

/** How much of a task is wanted. */
export interface TaskView {
  /** Messages, the newest; default all. */
  historyLength?: number | undefined
  /** Default true. */
  includeArtifacts?: boolean | undefined
  /** Whether what is large is wanted too: long arguments, and what a large run has made; default true. */
  isWhole?: boolean | undefined
}

/** What is known of a task already. */
export interface KnownTask {
  /** What clients said to it. */
  said?: readonly Message[] | undefined
  result?: RunResult | undefined
  status?: TaskStatus | undefined
}

/** What the log of a run has said so far. */
interface SoFar {
  result: RunResultBuilder
  events: TaskEvents
  /** The `seq` of its last part. */
  lastSeq: number
}

/** Bytes of a run up to which a task has its answer and artifacts where large ones are not wanted. */
const MAX_LISTED = 524_288

/** Many small parts, or a large one, at a time. */
const PAGE = { entries: 512, bytes: 65_536 }

/** The A2A face of a run, as it stands. */
export async function readTask(
  source: TaskSource,
  run: TaskRun,
  { historyLength, includeArtifacts = true, isWhole = true }: TaskView = {},
  known: KnownTask = {}
): Promise<Task> {
  const { runs } = source
  const hasHistory = historyLength !== 0
  const isNeeded = includeArtifacts || (hasHistory && run.status === 'completed')
  const isTruncated = isNeeded && !isWhole && run.bytes > MAX_LISTED
  const result = known.result ?? (isNeeded && !isTruncated ? await readResult(runs, run) : undefined)
  const messages = hasHistory ? (known.said ?? (await readSaid(source, run.runId))) : []
  const said = { messages, answer: result?.text ?? '', limit: historyLength, isWhole }
  return {
    id: run.runId,
    contextId: run.sessionId,
    status: known.status ?? (await readStatus(runs, run, isWhole)),
    ...(hasHistory && { history: await readHistory(runs, run, run.status, said) }),
    ...(includeArtifacts && result !== undefined && { artifacts: toArtifacts(result) }),
    metadata: { agentName: run.name, ...(isTruncated && { truncated: true }) }
  }
}

/** What clients said to a task; nothing where it was started on another surface. */
export async function readSaid({ tasks }: Pick<TaskSource, 'tasks'>, taskId: string): Promise<Message[]> {
  const stored: StoredTask | undefined = await tasks.get(taskId)
  return (stored?.messages ?? []) as Message[]
}

/** Folds the log as far as it is written. */
export async function readSoFar(
  { stores }: RunEngine,
  run: Pick<TaskRun, 'runId' | 'sessionId' | 'createdAt'>
): Promise<SoFar> {
  const { runId, sessionId, createdAt } = run
  const events = new TaskEvents({ taskId: runId, contextId: sessionId, createdAt })
  const result = new RunResultBuilder()
  const pause = createPause()
  let lastSeq = 0
  for (;;) {
    const entries = await stores.log.read(runId, lastSeq, PAGE)
    if (entries.length === 0) return { result, events, lastSeq }
    for (const { part } of entries) {
      result.add(part)
      events.add(part)
    }
    lastSeq = entries.at(-1)!.seq
    await pause()
  }
}

// Whole, or so far. Of a log that is damaged there is none: other tasks may be in the same list.
async function readResult(runs: RunEngine, run: TaskRun): Promise<RunResult | undefined> {
  try {
    const whole = isTerminalStatus(run.status) ? await loadResult(runs.stores, run) : null
    return whole ?? (await readSoFar(runs, run)).result.build()
  } catch (err) {
    if (codeOf(err) !== 'RUN_ERR_DAMAGED') throw err
    return undefined
  }
}

async function readStatus(runs: RunEngine, run: TaskRun, isWhole: boolean): Promise<TaskStatus> {
  const timestamp = toTimestamp(run.updatedAt)
  const { status: state, error } = run
  const task = { taskId: run.runId, contextId: run.sessionId }
  if (state === 'failed' && error !== null) return { state, timestamp, message: errorMessage(task, error) }
  if (state !== 'input-required') return { state, timestamp }
  const { approvals, count } = run.waiting
  if (approvals[0] === undefined) return { state: 'working', timestamp }
  const asked = await readAsked(runs, approvals[0], isWhole)
  return { state, timestamp, message: approvalMessage(task, asked, count === 1) }
}
