import type { Awaitable } from './awaitable.ts'

/** Keeps the latest checkpoint of each resumable run, as one JSON value. */
export interface CheckpointStore {
  /** Replaces the state. @throws RUN_ERR_FENCED if the epoch is lower than that of the last write */
  save(runId: string, epoch: number, state: unknown): Awaitable<void>
  /** The size of its JSON in bytes, without reading it; undefined if there is none. */
  size(runId: string): Awaitable<number | undefined>
  load(runId: string): Awaitable<{ epoch: number; state: unknown } | undefined>
  remove(runId: string): Awaitable<void>
}
