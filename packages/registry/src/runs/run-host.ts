import type { Exposures } from '../access/exposures.ts'
import type { RunLog } from '../contract/run-context.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { StoredRun } from '../stores/run-store.ts'
import type { Stores } from '../stores/stores.ts'
import type { LiveRun } from './live-run.ts'
import type { RunProgress } from './run-progress.ts'

/** What a run needs of the engine that executes it. */
export interface RunHost {
  readonly stores: Stores
  readonly events: EventBus
  readonly log: RunLog
  readonly exposures: Exposures
  readonly maxLogBytes: number
  readonly closed: AbortSignal
  ended(run: LiveRun): void
  /** The run's log can no longer be written. */
  lost(run: LiveRun, reason: unknown): void
  expireApproval(approvalId: string): void
  /** A resumed run does nothing but wait, until this time at the earliest: it need not stay in memory. */
  rests(run: LiveRun, until: number): void
}

/** So often a run goes on after a fault of its store, before it has got on. */
export const MAX_LOSSES = 5

/** What a run that goes on in this process brings along from the one before. */
export interface Earlier {
  readonly record: StoredRun
  readonly progress: RunProgress
  /** The approvals whose answer is in the log. */
  readonly answered: ReadonlySet<string>
  /** How often its store failed since it last got on; default 0. */
  readonly losses?: number | undefined
}
