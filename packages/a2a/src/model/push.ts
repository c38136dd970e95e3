import type { RunSummary } from '@svc/contract'
import type { ProtocolVersion } from '../wire/versions.ts'

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
