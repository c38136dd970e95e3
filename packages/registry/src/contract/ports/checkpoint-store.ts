import type { Awaitable } from './awaitable.ts'

/** Keeps where a resumable run stands: one JSON value a run, the latest. */
export interface CheckpointStore {
  /** Writes the state. One with an epoch below the last one written is refused with RUN_ERR_FENCED. */
  save(runId: string, epoch: number, state: unknown): Awaitable<void>
  /** How many bytes its JSON has, without reading it; undefined when there is none. */
  size(runId: string): Awaitable<number | undefined>
  load(runId: string): Awaitable<{ epoch: number; state: unknown } | undefined>
  remove(runId: string): Awaitable<void>
}
