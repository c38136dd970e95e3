import type { Awaitable } from './awaitable.ts'

/** The A2A data of a run: the task's id is the run's, its context the session. Times are milliseconds since the epoch. */
export interface StoredTask {
  taskId: string
  contextId: string
  /** Of the run. */
  registry: string
  owner: string
  agentName: string
  createdAt: number
  /** The clients' messages, in order, as plain JSON. */
  messages: readonly unknown[]
}

/** The target of a task's push notifications. */
export interface PushConfig {
  id: string
  url: string
  token?: string
  authentication?: Readonly<Record<string, unknown>>
  /** The version of the protocol that the receiver speaks. */
  version?: string
  /** The path of the endpoint that received it; only that endpoint resumes it after a restart. */
  endpoint?: string
  /** The scheme and host at which the client reached the service; URLs of files in notifications begin with it. */
  origin?: string
}

/** A configuration with notifications left to deliver. */
export interface OpenPush {
  taskId: string
  /** Of the task. */
  owner: string
  config: PushConfig
  /** The `seq` of the last part of the run's log that was delivered. */
  pushed: number
}

/** Lists open pushes in the order of task id and config id. */
export interface OpenPushQuery {
  limit: number
  cursor?: string
}

/** One page of open pushes; `nextCursor` is null on the last page. */
export interface OpenPushPage {
  pushes: OpenPush[]
  nextCursor: string | null
}

/** Selects tasks; they are listed newest first. */
export interface TaskQuery {
  owner?: string
  contextId?: string
  limit: number
  cursor?: string
}

/** One page of tasks; `nextCursor` is null on the last page. */
export interface TaskPage {
  tasks: StoredTask[]
  nextCursor: string | null
}

/** Keeps the A2A data of runs; state and artifacts come from the run's log. */
export interface TaskStore {
  /**
   * Adds a task with its first message and returns its id. If the owner already sent this `messageId` to a task of the same
   * registry, adds nothing and returns the id of that task.
   */
  create(task: StoredTask, messageId: string): Awaitable<string>
  get(taskId: string): Awaitable<StoredTask | undefined>
  /** The id of the registry's task that received the owner's message. */
  taskOfMessage(registry: string, owner: string, messageId: string): Awaitable<string | undefined>
  /**
   * Adds a follow-up message; false if the owner already sent this `messageId` to a task of the same registry, or if there is no
   * such task.
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
   * Adds or replaces a configuration; false if there is no such task. `pushed` is as in `OpenPush`; null if nothing is left to
   * deliver.
   */
  setPushConfig(taskId: string, config: PushConfig, pushed: number | null): Awaitable<boolean>
  /** Records what was delivered; false if the configuration no longer exists. */
  recordPush(taskId: string, configId: string, pushed: number | null): Awaitable<boolean>
  /** Lists the pushes of all tasks that a restart interrupted. @throws REG_ERR_BAD_CURSOR */
  listOpenPushes(query: OpenPushQuery): Awaitable<OpenPushPage>
  listPushConfigs(taskId: string): Awaitable<PushConfig[]>
  /** True if it existed. */
  removePushConfig(taskId: string, configId: string): Awaitable<boolean>
  /** Removes a task with its messages and push configurations. */
  remove(taskId: string): Awaitable<void>
}
