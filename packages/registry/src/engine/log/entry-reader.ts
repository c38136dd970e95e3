import type { Awaitable, LogEntry } from '@svc/contract'
import type { TransientPart } from './transient-parts.ts'

/** Reads entries of logs at its own pace: of one run, or of all runs of a session. */
export interface EntryReader {
  /** The run of the entries of the last read. */
  readonly runId: string
  /** True if the last entry of the last read is the last part of its run. */
  readonly endsRun: boolean
  /** The place of the run in its session, for readers of sessions. */
  readonly ordinal?: number | undefined
  /** The `seq` of the last part read. */
  readonly after: number
  /** True if nothing more comes. */
  readonly ended: boolean
  /** True if the engine closed first; another process continues after what was read. */
  readonly suspended: boolean
  /** The store failure that ended a log before its last part, if any. */
  readonly fault: Error | undefined
  /** Reads the next entries, of one run; empty if there are none yet. */
  read(): Awaitable<readonly LogEntry[]>
  /** From now on, collects transient parts for `takeTransients`. */
  followTransients(): void
  /** The transient parts since the last call. */
  takeTransients(): readonly RunNotice[]
  /** Calls back once there is more to read than at the last `read`; immediately if there already is. */
  onNews(callback: () => void): void
  /** Reads again as if notified, in case a notification was lost. */
  lookAgain(): void
  close(): void
}

/** A transient part, and its run if that is not the one of the last read. */
export interface RunNotice extends TransientPart {
  readonly runId?: string | undefined
}
