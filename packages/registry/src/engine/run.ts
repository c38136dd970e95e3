import type { NumberedPart, RunResult } from '@svc/contract'

/** One execution, from where it was started. */
export interface Run {
  readonly runId: string
  readonly sessionId: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** True if this call replayed an earlier run; only its starter may cancel it. */
  readonly replayed: boolean
  /** True if it waits until earlier runs of its session have ended; `submitted` until then. */
  readonly queued: boolean
  /** True if the message of this call has joined the run, which an earlier call started; only its starter may cancel it. */
  readonly joined: boolean
  /** Resolves with the result once the run has completed or was canceled; rejects with the run's error if it failed. */
  result(): Promise<RunResult>
  /** Yields the parts with a `seq` over `after`, including future ones, until the run's last part or until the signal aborts. */
  parts(after?: number, signal?: AbortSignal): AsyncIterable<NumberedPart>
  /** Ends the run as canceled; false if it had already ended. */
  cancel(): Promise<boolean>
}
