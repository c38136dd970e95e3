import type { Exposures } from '../access/exposures.ts'
import type { RunLog } from '../contract/run-log.ts'
import type { EventBus } from '../contract/event-bus.ts'
import type { StoredRun } from '../contract/ports/run-store.ts'
import type { Stores } from '../contract/ports/stores.ts'
import type { Runnable } from '../contract/runnable.ts'
import type { RunProgress } from './run-progress.ts'
import type { StartOptions } from './start-options.ts'

/** A run as the engine that executes it sees it. */
export interface HostedRun {
  readonly log: RunLog
  readonly runId: string
  readonly runnable: Runnable
  readonly options: StartOptions
  readonly record: StoredRun
  /** True if another process can resume it. */
  readonly resumable: boolean
  /** True if it was left for another process, or for later. */
  readonly suspended: boolean
  /** How often its store failed since it last made progress. */
  readonly losses: number
  /** True if it may be resumed here after a store failure; bounded, in case the store cannot take the run itself. */
  readonly mayResume: boolean
  /** Resolves when its runnable has returned. */
  readonly executed: Promise<void> | undefined
  /** Leaves it as it is, for another process to resume. */
  suspend(): Promise<void>
}

/** What a run needs of the engine that executes it. */
export interface RunHost {
  readonly stores: Stores
  readonly events: EventBus
  readonly log: RunLog
  readonly exposures: Exposures
  readonly maxLogBytes: number
  readonly closed: AbortSignal
  ended(run: HostedRun): void
  /** The run's log can no longer be written. */
  lost(run: HostedRun, reason: unknown): void
  expireApproval(approvalId: string): void
  /** A resumed run does nothing but wait, until this time at the earliest: it need not stay in memory. */
  dormant(run: HostedRun, until: number): void
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
