import type { NumberedPart } from '../part.ts'
import type { Awaitable } from './awaitable.ts'
import type { RunChange } from './run-store.ts'

/** One part of a log: its JSON, made once whoever reads it, and the part, parsed when it is first asked for. */
export interface LogEntry {
  readonly seq: number
  /** `{"seq":…,…}`; in the parts that the engine writes itself `type` comes second. */
  readonly json: string
  readonly part: NumberedPart
  /** Characters of the JSON, about, where it is not made yet. */
  readonly size?: number
}

/** How much to read at once; an entry larger than `bytes` still comes, alone. */
export interface ReadLimit {
  entries: number
  /** Characters of JSON. */
  bytes: number
}

/** The append-only logs of runs. */
export interface StreamLog {
  /**
   * Appends entries, whose `seq` goes on from the log's last, and changes the run's record in the same transaction.
   * @throws RUN_ERR_FENCED when the epoch is no longer the run's, or the run is terminal
   */
  append(runId: string, epoch: number, entries: readonly LogEntry[], change?: RunChange): Awaitable<void>
  /** The entries with a `seq` over `after`, in order; empty when there are none (yet), or no such run. */
  read(runId: string, after: number, limit: ReadLimit): Awaitable<readonly LogEntry[]>
  /**
   * Calls `wake` after every append to this log, and with `true` when the log is removed or abandoned or there is none,
   * until the returned function is called.
   */
  follow(runId: string, wake: (gone?: boolean) => void): () => void
  /** Tells who follows this log in this process that nothing more comes; the log stays. */
  abandon(runId: string): void
}
