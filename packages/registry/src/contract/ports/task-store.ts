import type { Awaitable } from './awaitable.ts'

/** What A2A adds to a run: the task's id is the run's, its context the session. Times are milliseconds since the epoch. */
export interface StoredTask {
  taskId: string
  contextId: string
  /** Of the run. */
  registry: string
  owner: string
  agentName: string
  createdAt: number
  /** The messages that clients sent, in their order, as plain JSON. */
  messages: readonly unknown[]
}

/** Where the changes of a task are to be pushed to. */
export interface PushConfig {
  id: string
  url: string
  token?: string
  authentication?: Readonly<Record<string, unknown>>
  /** The version of the protocol that the receiver speaks. */
  version?: string
  /** The path of the endpoint that took it: it alone goes on with it after a restart. */
  endpoint?: string
}

/** A configuration whose receiver is still to be told something. */
export interface OpenPush {
  taskId: string
  /** Of the task. */
  owner: string
  config: PushConfig
  /** The `seq` of the last part of the run's log of which it was told. */
  told: number
}

/** Which of them to list, by the ids of their tasks and their own. */
export interface OpenPushQuery {
  limit: number
  cursor?: string
}

/** One page of them; `nextCursor` is null on the last one. */
export interface OpenPushPage {
  pushes: OpenPush[]
  nextCursor: string | null
}

/** Which tasks to list, newest first. */
export interface TaskQuery {
  owner?: string
  contextId?: string
  limit: number
  cursor?: string
}

/** One page of tasks; `nextCursor` is null on the last one. */
export interface TaskPage {
  tasks: StoredTask[]
  nextCursor: string | null
}

/** Keeps the A2A face of runs; state and artifacts come from the run's log. */
export interface TaskStore {
  /**
   * Adds a task with its first message. When the owner sent this `messageId` to a task of the same registry before, nothing
   * is added and the id of that task comes back; else the task's own id.
   */
  create(task: StoredTask, messageId: string): Awaitable<string>
  get(taskId: string): Awaitable<StoredTask | undefined>
  /** The task of a registry that a message of the owner went to. */
  taskOfMessage(registry: string, owner: string, messageId: string): Awaitable<string | undefined>
  /**
   * Adds a follow-up message; false when the owner sent this `messageId` to a task of the same registry before, or there is
   * no such task.
   */
  addMessage(taskId: string, messageId: string, message: unknown): Awaitable<boolean>
  /** The newest task of a context in these registries. */
  lastOfContext(
    registries: readonly string[],
    owner: string,
    contextId: string
  ): Awaitable<StoredTask | undefined>
  list(query: TaskQuery): Awaitable<TaskPage>
  /**
   * Adds a configuration, or replaces the one with the same id; false when there is no such task. `told` is as in
   * `OpenPush`; null where there is nothing to tell.
   */
  setPushConfig(taskId: string, config: PushConfig, told: number | null): Awaitable<boolean>
  /** Records of what a receiver was told since; false when there is no such configuration any more. */
  recordPush(taskId: string, configId: string, told: number | null): Awaitable<boolean>
  /** Those of all tasks whose receivers have not been told everything: what a restart left. @throws REG_ERR_BAD_CURSOR */
  listOpenPushes(query: OpenPushQuery): Awaitable<OpenPushPage>
  listPushConfigs(taskId: string): Awaitable<PushConfig[]>
  /** Whether there was one. */
  removePushConfig(taskId: string, configId: string): Awaitable<boolean>
  /** Removes a task with all that belongs to it. */
  remove(taskId: string): Awaitable<void>
}
