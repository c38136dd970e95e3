import type { AgentCard } from './agent-card.ts'
import type { Message } from './message.ts'
import type { TaskPushConfig } from './push-config.ts'
import type { Task, TaskState } from './task.ts'
import type { TaskEvent } from './task-event.ts'

/** A message, and how its sender wants the answer. */
export interface SendRequest {
  message: Omit<Message, 'messageId'> & { messageId?: string }
  /** Whether the answer comes when the task has ended or waits for input. */
  wait: boolean
  historyLength?: number
  push?: Omit<TaskPushConfig, 'taskId' | 'id'> & { id?: string }
  metadata?: Record<string, unknown>
}

/** Which tasks to list, and how much of each. */
export interface ListRequest {
  contextId?: string
  state?: TaskState
  pageSize: number
  pageToken?: string
  historyLength?: number
  /** ISO 8601: tasks that changed then or later. */
  changedSince?: string
  includeArtifacts: boolean
}

/** One page of tasks; `nextPageToken` is '' on the last one. */
export interface TaskList {
  tasks: Task[]
  nextPageToken: string
  pageSize: number
  totalSize: number
}

/** What each operation takes. */
export interface Requests {
  send: SendRequest
  stream: SendRequest
  get: { id: string; historyLength?: number }
  list: ListRequest
  cancel: { id: string }
  subscribe: { id: string }
  setPushConfig: Omit<TaskPushConfig, 'id'> & { id?: string }
  getPushConfig: { taskId: string; id?: string }
  listPushConfigs: { taskId: string }
  deletePushConfig: { taskId: string; id: string }
  extendedCard: Record<string, never>
}

/** What each operation gives; those that stream give their events one by one. */
export interface Results {
  send: Task
  stream: TaskEvent
  get: Task
  list: TaskList
  cancel: Task
  subscribe: TaskEvent
  setPushConfig: TaskPushConfig
  getPushConfig: TaskPushConfig
  listPushConfigs: TaskPushConfig[]
  deletePushConfig: null
  extendedCard: AgentCard
}

/** What can be asked for. */
export type OperationName = keyof Requests
