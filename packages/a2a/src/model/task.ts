import type { RunStatus } from '@svc/contract'
import type { Artifact, Message } from './message.ts'

/** The states of a run, those that a run has as `failed` or `input-required`, and one that only other servers use. */
export type TaskState = RunStatus | 'rejected' | 'auth-required' | 'unknown'

/** The state of a task; `timestamp` is ISO 8601 in UTC, with milliseconds. */
export interface TaskStatus {
  state: TaskState
  message?: Message
  timestamp?: string
}

/** A run as A2A shows it. */
export interface Task {
  id: string
  contextId: string
  status: TaskStatus
  history?: Message[]
  artifacts?: Artifact[]
  metadata?: Record<string, unknown>
}

/** True for states that a task never leaves. */
export function isTerminalState(state: TaskState): boolean {
  return state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected'
}

/** True for states in which a task waits for its client. */
export function isInterruptedState(state: TaskState): boolean {
  return state === 'input-required' || state === 'auth-required'
}

interface TaskIds {
  taskId: string
  contextId: string
}

/** An event of a stream: the task first, then its changes. */
export type TaskEvent =
  | { type: 'task'; task: Task }
  | { type: 'message'; message: Message }
  | (TaskIds & { type: 'status'; status: TaskStatus })
  | (TaskIds & { type: 'artifact'; artifact: Artifact; append: boolean; lastChunk: boolean })

/** The answer to a message: its task, or a message alone. */
export type Reply = Extract<TaskEvent, { type: 'task' | 'message' }>

// A cache of one: under load many tasks change within a millisecond.
let last = { at: Number.NaN, text: '' }

/** Formats a time as ISO 8601. @param at milliseconds since the epoch */
export function toTimestamp(at: number): string {
  if (at !== last.at) last = { at, text: new Date(at).toISOString() }
  return last.text
}
