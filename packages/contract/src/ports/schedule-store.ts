import type { RunnableKey } from '../names.ts'
import type { Principal } from '../principal.ts'
import type { WhenBusy } from '../run-body.ts'
import type { RunMetadata } from '../part.ts'
import type { SessionSettings } from './session-store.ts'
import type { CatchUp } from '../schedule.ts'
import type { Awaitable } from '../awaitable.ts'
import type { QueuedStart } from './run-queue.ts'

/** When a schedule fires, and what its runs start with. Stores keep it as one JSON value. */
export interface SchedulePlan {
  /** Null with `at`; both are null for a schedule that fires only when it is asked to. */
  readonly cron: string | null
  /** Null with `at`. */
  readonly timeZone: string | null
  /** Its only instant, in milliseconds since the epoch; null with `cron`. */
  readonly at: number | null
  readonly input: unknown
  /** Null: a new session for each run. */
  readonly sessionId: string | null
  /** What happens while another run has the turn of the session; absent: as the runnable says. */
  readonly whenBusy?: WhenBusy | undefined
  readonly metadata: RunMetadata | null
  readonly catchUp: CatchUp
  readonly enabled: boolean
  /** In whose name the runs start. */
  readonly principal: Principal
  /** The surface that created it, whose policy is asked again when it fires; null if the app did. */
  readonly surface: string | null
  /** Whether the app gave that policy. */
  readonly guarded: boolean
  /** What wires keep with it, by their names; absent if none does. */
  readonly settings?: SessionSettings | undefined
}

/** The part of a schedule that changes when it fires. Times are milliseconds since the epoch. */
export interface ScheduleState {
  /** Null if it fires no more, or is not enabled. */
  readonly nextAt: number | null
  /** When its only instant was over, or its owner ended it; null while it may fire, and if it is only not enabled. */
  readonly endedAt: number | null
  /** The latest instant for which it fired. */
  readonly lastAt: number | null
  readonly lastRunId: string | null
  /** The code of the error that kept it from firing; null once it has fired again. */
  readonly lastError: string | null
}

/** A schedule as a store keeps it. */
export interface StoredSchedule extends RunnableKey, ScheduleState {
  readonly scheduleId: string
  readonly owner: string
  readonly createdAt: number
  readonly updatedAt: number
  /** Incremented by each change, and each time that it fires. */
  readonly revision: number
  readonly plan: SchedulePlan
}

/** Selects schedules; they are listed newest first. */
export interface ScheduleQuery {
  owner?: string
  /** At most this many; 1–1,000. */
  limit: number
  /** The `nextCursor` of the previous page, or `formatRunCursor` of a schedule on it, by its `createdAt` and its id. */
  cursor?: string
}

/** One page of schedules; `nextCursor` is null on the last page. */
export interface SchedulePage {
  schedules: StoredSchedule[]
  nextCursor: string | null
}

/** Selects schedules that are due. */
export interface DueQuery {
  /** The runnables of this process. */
  readonly runnables: readonly RunnableKey[]
  /** Milliseconds since the epoch. */
  readonly now: number
  /** At most this many; 1–1,000. */
  readonly limit: number
}

/** Keeps schedules, and decides which process fires which instant. It belongs to a `RunQueue`, which gets the runs. */
export interface ScheduleStore {
  /**
   * Adds a schedule.
   * @throws RUN_ERR_TOO_MANY_SCHEDULES if its owner already has `maxPerOwner` that have not ended, or the store is full
   */
  create(schedule: StoredSchedule, maxPerOwner: number): Awaitable<void>
  get(scheduleId: string): Awaitable<StoredSchedule | undefined>
  /** Newest first by `createdAt`, then by id. @throws REG_ERR_BAD_CURSOR */
  list(query: ScheduleQuery): Awaitable<SchedulePage>
  /**
   * Replaces a schedule by one whose `revision` is one higher; false if it has another revision by now, or is removed.
   * @throws RUN_ERR_TOO_MANY_SCHEDULES if it had ended and does not any more, as `create`
   */
  change(schedule: StoredSchedule, maxPerOwner: number): Awaitable<boolean>
  /** False if there is none. */
  remove(scheduleId: string): Awaitable<boolean>
  /** The next instant at which a schedule of these runnables is due; undefined if there is none. */
  nextAt(runnables: readonly RunnableKey[]): Awaitable<number | undefined>
  /** The schedules that are due, the longest overdue first. */
  listDue(query: DueQuery): Awaitable<StoredSchedule[]>
  /**
   * Sets the state of a schedule, increments its revision, and adds a run to the queue, in one transaction; false, with nothing done, if its
   * `nextAt` or its revision has changed, because another process has fired it or its owner has changed it.
   * @param start absent if the instant passes without a run
   */
  fire(schedule: StoredSchedule, state: ScheduleState, start?: QueuedStart): Awaitable<boolean>
  /** Records an error for all schedules that have been due since before a time. They stay due. */
  markOverdue(before: number, code: string): Awaitable<void>
  /**
   * Calls the listener when another process has changed when schedules are due, until the returned function is called. Absent if no other
   * process does.
   */
  onPlanned?(listener: () => void): () => void
  /** Removes schedules whose only instant has been over for as long as finished runs are kept; returns their number. */
  sweep(now: number): Awaitable<number>
}
