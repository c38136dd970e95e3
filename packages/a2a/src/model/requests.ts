import type { ServerResponse } from 'node:http'
import type { Principal, RunLog, RunSummary } from '@svc/contract'
import type { StartOptions } from '@svc/surface'
import type { ProtocolVersion } from '../wire/versions.ts'
import type { AgentCard } from './agent-card.ts'
import type { Message } from './message.ts'
import type { Reply, Task, TaskEvent, TaskState } from './task.ts'

/** A message and the form of its answer. */
export interface SendRequest {
  message: Omit<Message, 'messageId'> & { messageId?: string }
  /** True to answer once the task has ended or waits for input; false to answer at once. */
  wait: boolean
  historyLength?: number
  /** The media types that the client accepts in the reply, as it writes them; undefined: any. */
  acceptedOutputModes?: readonly string[]
  push?: GivenPushConfig
  metadata?: Record<string, unknown>
}

/** A filter of tasks, and how much of each to return. */
export interface ListRequest {
  contextId?: string
  state?: TaskState
  pageSize: number
  pageToken?: string
  historyLength?: number
  /** ISO 8601: tasks that changed at that time or later. */
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

/** The request of each operation. */
export interface Requests {
  send: SendRequest
  stream: SendRequest
  get: { id: string; historyLength?: number }
  list: ListRequest
  cancel: { id: string }
  subscribe: { id: string }
  setPushConfig: GivenPushConfig & { taskId: string }
  getPushConfig: { taskId: string; id?: string }
  listPushConfigs: { taskId: string }
  deletePushConfig: { taskId: string; id: string }
  extendedCard: Record<string, never>
}

/** The result of each operation; of those that stream, one event. */
export interface Results {
  send: Reply
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

/** The names of the operations. */
export type OperationName = keyof Requests

/** Files that are sent by their bytes. */
export interface InlineFiles {
  /** Larger files are sent by their URL. */
  readonly maxBytes: number
  /** The bytes of a file as base64; undefined if it cannot be read. */
  read(taskId: string, fileId: string): Promise<string | undefined>
}

/** How tasks show the outputs of their runs. */
export interface Outputs {
  /** The absolute URL at which clients fetch a file. */
  fileUrl(taskId: string, fileId: string): string
  /** True if the result of each tool call is an artifact. */
  readonly exposeToolResults: boolean
  /** The media types that the client accepts; undefined: any. */
  readonly accepted?: readonly string[] | undefined
  /** Undefined if all files are sent by their URL. */
  readonly inline?: InlineFiles | undefined
}

/** The caller of an operation, and how it is called. */
export interface Call extends Outputs {
  /** The JSON of a card as the caller gets it. */
  encodeCard(card: AgentCard): unknown
  readonly principal: Principal
  readonly log: RunLog
  /** What lets runs use the caller's keys for model providers, and keeps these out of all that is stored or logged. */
  readonly keyed: Pick<StartOptions, 'apiKey' | 'log' | 'redact'>
  readonly version: ProtocolVersion
  /** True if a subscription of this version ends when its task waits for input. */
  readonly endsWhenWaiting: boolean
  /** True if the absence of an extended card is an error of its own. */
  readonly hasNoCardError: boolean
  /** URIs of the active extensions. */
  readonly extensions: readonly string[]
  /** The scheme and host the client connected to. */
  readonly origin: string
  /** Waits until an answer made of so many bytes may be in memory; at once over gRPC. @throws RUN_ERR_READER_LEFT */
  reserve(bytes: number): Promise<void> | undefined
}

/** What an operation needs of a request, whatever its binding; a `FastifyRequest` is one. */
export interface Caller {
  readonly caller: Principal
  readonly log: RunLog
  /** In lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** `http` or `https`: how the client reaches the endpoint of HTTP. */
  readonly protocol: string
  /** The host and port at which the client reaches the endpoint of HTTP. */
  readonly host: string
  /** The addresses of the trusted proxies and of the client, over HTTP. */
  readonly ips?: readonly string[] | undefined
}

/** Where the headers of an answer go; a `FastifyReply` is one. */
export interface Answer {
  header(name: string, value: string | number): unknown
  /** The reply over HTTP. */
  readonly raw?: ServerResponse
}

/** Where a task's changes are pushed to, and how the receiver recognises the sender. */
export interface TaskPushConfig {
  taskId: string
  id: string
  url: string
  token?: string
  authentication?: { schemes: string[]; credentials?: string }
}

/** A configuration as a client sends it; the id is optional. */
export type GivenPushConfig = Omit<TaskPushConfig, 'taskId' | 'id'> & { id?: string }

/** What a client speaks, and the scheme and host at which it reaches the service. */
export interface PushClient {
  readonly version: ProtocolVersion
  readonly origin: string
}

/** Push notifications of a service's tasks. */
export interface Pushes {
  /** Checks that an owner may push to a URL. @throws A2A_ERR_BAD_PARAMS, A2A_ERR_UNSUPPORTED */
  check(url: string, owner: string): Promise<void>
  /** Stores a configuration and pushes what follows the part `after`; default: what follows the last part so far. */
  add(
    run: Pick<RunSummary, 'runId' | 'owner' | 'status'>,
    given: GivenPushConfig,
    client: PushClient,
    after?: number
  ): Promise<TaskPushConfig>
  list(taskId: string): Promise<TaskPushConfig[]>
  remove(taskId: string, id: string): Promise<void>
  /** Resumes what a restart interrupted, and what other nodes leave, in the background. */
  resume(): void
  close(): Promise<void>
}
