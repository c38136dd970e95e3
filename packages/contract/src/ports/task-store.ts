import type { Awaitable } from '../awaitable.ts'

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
  config: PushConfig
  /** The `seq` of the last part of the run's log that was delivered. */
  pushed: number
}

/** Selects open pushes to claim. */
export interface PushClaim {
  /** The `endpoint` of their configurations. */
  endpoint: string
  /** At most this many tasks, each with all its open pushes; 1–1,000. */
  maxTasks: number
}

/** What became of a configuration: it is stored, the task is unknown, or has the most configurations that it may have. */
export type PushConfigOutcome = 'stored' | 'unknown' | 'full'

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
   * Adds or replaces a configuration, and claims its notifications for this process.
   * @param pushed as in `OpenPush`; null if nothing is left to deliver
   * @param maxPerTask configurations that a task may have
   */
  setPushConfig(
    taskId: string,
    config: PushConfig,
    pushed: number | null,
    maxPerTask?: number
  ): Awaitable<PushConfigOutcome>
  /**
   * Claims open pushes that no living process has claimed, for this process to deliver; an empty list if there is none. Processes that
   * claim at the same time get different ones. For a store of one process those are what an earlier process left.
   */
  claimPushes(claim: PushClaim): Awaitable<OpenPush[]>
  /** Gives up this process's claims of an endpoint, for other processes, or a later one. */
  releasePushes(endpoint: string): Awaitable<void>
  /** True if a configuration exists, with notifications left that this process has claimed. */
  holdsPush(taskId: string, configId: string): Awaitable<boolean>
  /** Records what was delivered; false if this process does not hold the push any more. */
  recordPush(taskId: string, configId: string, pushed: number | null): Awaitable<boolean>
  /** The number of an owner's open pushes. */
  countOpenPushes(owner: string): Awaitable<number>
  listPushConfigs(taskId: string): Awaitable<PushConfig[]>
  /** True if it existed. */
  removePushConfig(taskId: string, configId: string): Awaitable<boolean>
  /** Removes a task with its messages and push configurations. */
  remove(taskId: string): Awaitable<void>
}
