import type { RunLog } from '../contract/run-context.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { Stores } from '../stores/stores.ts'
import type { LiveRun } from './live-run.ts'

/** What a run needs of the engine that executes it. */
export interface RunHost {
  readonly stores: Stores
  readonly events: EventBus
  readonly log: RunLog
  readonly maxLogBytes: number
  ended(run: LiveRun): void
  /** The run's log can no longer be written. */
  lost(run: LiveRun, reason: unknown): void
  expireApproval(approvalId: string): void
}
