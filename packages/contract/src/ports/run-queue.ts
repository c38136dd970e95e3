import type { RunnableKey } from '../names.ts'
import type { Awaitable } from '../awaitable.ts'
import type { RunSummary, StoredRun } from './run-store.ts'
import type { LogEntry } from './stream-log.ts'

/** A queued run that this process has just leased. */
export interface NextRun extends RunnableKey {
  readonly runId: string
  readonly owner: string
  readonly epoch: number
}

/** What is stored of a run that waits in the queue: its record with epoch 0, the first entry of its log, and its checkpoint. */
export interface QueuedStart {
  readonly run: StoredRun
  readonly first: LogEntry
  readonly checkpoint: unknown
}

/** Selects the next run of the queue. */
export interface NextQuery {
  /** The runnables of this process. */
  readonly runnables: readonly RunnableKey[]
  /** Runs from the queue that an owner may have in progress, on all processes; those that wait for an input count too. */
  readonly perOwner: number
  /** An owner without that limit. */
  readonly unlimited: string
}

/**
 * Runs that wait until a process begins them. A run waits while its epoch is 0: it is `submitted`, no process has it, its log has the
 * first part, and its checkpoint the input.
 */
export interface RunQueue {
  /**
   * Adds a run with epoch 0, the first entry of its log and its checkpoint, in one transaction. If its owner already has a run of the same
   * registry with the same start key, adds nothing and returns that one. A run that this process has created and not begun is put
   * into the queue.
   */
  add(run: StoredRun, first: LogEntry, checkpoint: unknown): Awaitable<RunSummary | undefined>
  /**
   * Leases the waiting run whose turn it is, and makes it `working`; undefined if none of these runnables may begin. Of the owners below
   * the limit the one with the fewest runs from the queue in progress is next, then the one whose first run waits longest. Among calls of
   * several processes at the same moment, each may get another owner's run; none exceeds the limit, and none gets the run of another.
   */
  next(query: NextQuery): Awaitable<NextRun | undefined>
  /** Leases a waiting run that is to be canceled, and returns its epoch; undefined if it does not wait. */
  withdraw(runId: string): Awaitable<number | undefined>
  /** True if a run waits. */
  isWaiting(): Awaitable<boolean>
  /**
   * Calls `take` when a waiting run may begin, at most `concurrency` times at once, until the returned function is called; that resolves
   * when no call is in progress. `take` resolves with false if it found none, and does not reject.
   */
  serve(concurrency: number, take: () => Promise<boolean>): Awaitable<() => Promise<void>>
  /** Reports that a waiting run may begin that could not before: a runnable was added, or a run from the queue has ended elsewhere. */
  look(): void
  /** Reports that this process has ended a run, if that may be one from the queue. Absent if a queue finds out by itself. */
  ended?(runId: string): void
}
