import { Type } from '@sinclair/typebox'
import type { Awaitable } from '../awaitable.ts'
import type { CheckpointStore, StreamLog } from './stream-log.ts'
import type { ControlBus, CounterStore, NodeLease } from './nodes.ts'
import type { FileStore } from './file-store.ts'
import type { MemoryStore } from './memory-store.ts'
import type { RunQueue } from './run-queue.ts'
import type { RunStore } from './run-store.ts'
import type { ScheduleStore } from './schedule-store.ts'
import type { BrowserStateStore, RemoteSessionStore, SessionIndex, SessionStore } from './session-store.ts'
import type { TaskStore } from './task-store.ts'
import type { WebhookStore } from './webhook-store.ts'

/** All storage ports. `runs` and `log` belong together: appending to a log changes the records of its runs. */
export interface Stores {
  readonly runs: RunStore
  readonly log: StreamLog
  readonly sessions: SessionStore
  readonly memory: MemoryStore
  readonly tasks: TaskStore
  readonly checkpoints: CheckpointStore
  readonly control: ControlBus
  /** Optional: without it, logs have the size and hash of files, and no store has their bytes. */
  readonly files?: FileStore
  /** Optional: without it, browsers forget their sessions with the process. */
  readonly browserStates?: BrowserStateStore
  /** Optional: without it, a session begins another conversation at another service after a restart, and on each node. */
  readonly remoteSessions?: RemoteSessionStore
  /** Optional: without it sessions cannot be listed, changed or followed. */
  readonly sessionIndex?: SessionIndex
  /** Absent if only one process can use the stores at a time: it counts by itself. */
  readonly counters?: CounterStore
  /** Optional: without it no run can be queued. */
  readonly queue?: RunQueue
  /** Optional: without it, or without a queue, nothing can be scheduled. */
  readonly schedules?: ScheduleStore
  /** Optional: without it there are no webhooks. It belongs to `log`. */
  readonly webhooks?: WebhookStore
  /** Absent if only one process can use the stores at a time. */
  readonly lease?: NodeLease
  /** Rejects if the stores cannot read and write; an engine calls it at most once a second. Optional. */
  check?(): Awaitable<void>
}

const port = Type.Object({})

/** The schemas of the ports that all stores have, for options that take stores. */
export const REQUIRED_PORTS = {
  runs: port,
  log: port,
  sessions: port,
  memory: port,
  tasks: port,
  checkpoints: port,
  control: port
}
