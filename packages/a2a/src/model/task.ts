import type { RunStatus } from '@svc/registry'
import type { Artifact, Message } from './message.ts'

/** States of a task: those of a run, and those that only other servers have. */
export type TaskState = RunStatus | 'rejected' | 'auth-required' | 'unknown'

/** Where a task stands; `timestamp` is ISO 8601 in UTC, with milliseconds. */
export interface TaskStatus {
  state: TaskState
  message?: Message
  timestamp?: string
}

/** A run with its A2A face. */
export interface Task {
  id: string
  contextId: string
  status: TaskStatus
  history?: Message[]
  artifacts?: Artifact[]
  metadata?: Record<string, unknown>
}

/** Whether no move leaves this state. */
export function isTerminalState(state: TaskState): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected'
}

/** Whether a task in this state waits for its client. */
export function isInterruptedState(state: TaskState): boolean {
  return state === 'input-required' || state === 'auth-required'
}

interface OfTask {
  taskId: string
  contextId: string
}

/** What a stream tells: the task first, then its changes. */
export type TaskEvent =
  | { type: 'task'; task: Task }
  | { type: 'message'; message: Message }
  | (OfTask & { type: 'status'; status: TaskStatus })
  | (OfTask & { type: 'artifact'; artifact: Artifact; append: boolean; lastChunk: boolean })

// Under load many tasks change within one millisecond.
let last = { at: Number.NaN, text: '' }

/** A time in ISO 8601, in UTC, with milliseconds. @param at milliseconds since 1970 */
export function toTimestamp(at: number): string {
  if (at !== last.at) last = { at, text: new Date(at).toISOString() }
  return last.text
}
