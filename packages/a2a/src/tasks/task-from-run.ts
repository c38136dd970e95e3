import { toPendingApprovals, type RunResult, type StoredRun } from '@svc/registry'
import type { Message } from '../model/message.ts'
import type { Task, TaskStatus } from '../model/task.ts'
import { approvalMessage, errorMessage } from './agent-messages.ts'
import { toArtifacts } from './artifacts.ts'
import { toHistory } from './history.ts'
import { isoTime } from './iso-time.ts'

/** How much of a task is wanted. */
export interface TaskView {
  /** Messages, the newest; default all. */
  historyLength?: number | undefined
  /** Default true. */
  includeArtifacts?: boolean | undefined
}

/** The A2A face of a run, from its record, what was said to it, and its result, whole or so far. */
export function taskFromRun(
  run: StoredRun,
  said: readonly Message[],
  result: RunResult | undefined,
  { historyLength, includeArtifacts = true }: TaskView = {}
): Task {
  return {
    id: run.runId,
    contextId: run.sessionId,
    status: statusOf(run),
    ...(historyLength !== 0 && { history: toHistory(run, said, result?.text ?? '', historyLength) }),
    ...(includeArtifacts && result !== undefined && { artifacts: toArtifacts(result) }),
    metadata: { agentName: run.name }
  }
}

function statusOf(run: StoredRun): TaskStatus {
  const timestamp = isoTime(run.updatedAt)
  const { status: state, error } = run
  const task = { taskId: run.runId, contextId: run.sessionId }
  if (state === 'failed' && error !== null) return { state, timestamp, message: errorMessage(task, error) }
  if (state !== 'input-required') return { state, timestamp }
  const [asked, other] = toPendingApprovals(run)
  return asked === undefined
    ? { state: 'working', timestamp }
    : { state, timestamp, message: approvalMessage(task, asked, other === undefined) }
}
