import type { RunStatus } from '@svc/registry'
import type { Artifact } from './artifact.ts'
import type { Message } from './message.ts'

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
