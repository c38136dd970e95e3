import type { NumberedPart } from '../part.ts'
import type { Awaitable } from '../awaitable.ts'
import type { RunChange, StepRecord } from './run-store.ts'

/** One part of a log: its JSON, encoded once for all readers, and the part, parsed on first access. */
export interface LogEntry {
  readonly seq: number
  /** `{"seq":…,"type":…,"at":…,…}`, in this order. */
  readonly json: string
  readonly part: NumberedPart
  /** The approximate length of the JSON, if it is not encoded yet. */
  readonly size?: number
}

/** The limit of one read; an entry larger than `bytes` is returned alone. */
export interface ReadLimit {
  entries: number
  /** Characters of JSON. */
  bytes: number
}

/** The append-only logs of runs. */
export interface StreamLog {
  /**
   * Appends entries, whose `seq` continues the log's. In the same transaction it changes the run's record, and records steps as
   * `RunStore.recordStep` does.
   * @throws RUN_ERR_FENCED if the epoch is outdated or the run is terminal
   */
  append(
    runId: string,
    epoch: number,
    entries: readonly LogEntry[],
    change?: RunChange,
    steps?: readonly StepRecord[]
  ): Awaitable<void>
  /** The entries with a `seq` over `after`, in order; empty if there are none yet, or no such run. */
  read(runId: string, after: number, limit: ReadLimit): Awaitable<readonly LogEntry[]>
  /**
   * As `read`, including entries that this process has appended without knowing yet: others read an append as soon as it is committed, the
   * acknowledgement may come later. Absent where `read` returns them.
   */
  readCommitted?(runId: string, after: number, limit: ReadLimit): Awaitable<readonly LogEntry[]>
  /**
   * Calls `wake` after every append to this log, and with `true` if the log is missing, removed or abandoned, until the returned
   * function is called.
   */
  follow(runId: string, wake: (gone?: boolean) => void): () => void
  /**
   * Calls `act` once, when a reader in any process begins to follow this log, or reads it where a read costs nothing; false if one
   * follows it now. A later call replaces an earlier one. Text that has no reader is appended some milliseconds later, joined with what
   * follows; where this is absent, at once.
   */
  onFollowed?(runId: string, act: () => void): boolean
  /** Notifies this process's followers that nothing more will be appended; the log stays. */
  abandon(runId: string): void
}

/** Keeps the latest checkpoint of each resumable run, as one JSON value. */
export interface CheckpointStore {
  /** Replaces the state. @throws RUN_ERR_FENCED if the epoch is lower than that of the last write */
  save(runId: string, epoch: number, state: unknown): Awaitable<void>
  /** The size of its JSON in bytes, without reading it; undefined if there is none. */
  size(runId: string): Awaitable<number | undefined>
  load(runId: string): Awaitable<{ epoch: number; state: unknown } | undefined>
  remove(runId: string): Awaitable<void>
}
