import type { AnswerSeal } from '../access/answer-seal.ts'
import type { Exposures } from '../access/exposures.ts'
import type { RunLog } from '../contract/run-log.ts'
import type { EventBus } from '../contract/event-bus.ts'
import type { StoredRun } from '../contract/ports/run-store.ts'
import type { Stores } from '../contract/ports/stores.ts'
import type { RunResult } from '../contract/run-result.ts'
import type { Runnable } from '../contract/runnable.ts'
import type { RecordOptions } from '../options.ts'
import type { TransientParts } from './log/transient-parts.ts'
import type { SessionNotices } from './turns/session-notices.ts'
import type { RecalledLog } from './recovery/recalled-log.ts'
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
  /** True if an earlier process began it. */
  readonly resumed: boolean
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

/** What a dormant run waits for. */
export interface DormantWait {
  /** When the first wait ends, in milliseconds since the epoch. */
  readonly until: number
  /** The inputs whose answers end a wait. */
  readonly inputIds: readonly string[]
}

/** The parts of the engine that a run needs. */
export interface RunHost {
  readonly stores: Stores
  readonly events: EventBus
  readonly log: RunLog
  readonly exposures: Exposures
  readonly maxLogBytes: number
  readonly record: Readonly<Required<RecordOptions>>
  readonly closed: AbortSignal
  readonly transients: TransientParts
  readonly sessionNotices: SessionNotices
  readonly seal: AnswerSeal
  ended(run: HostedRun): void
  /** The result of a run that another node has. @throws its error, RUN_ERR_SUSPENDED */
  resultElsewhere(runId: string): Promise<RunResult>
  /** The run has recorded a step or an answer. */
  progressed(run: HostedRun): void
  /** The run is suspended in order. */
  left(run: HostedRun): Promise<void>
  /** The run's log can no longer be written. */
  lost(run: HostedRun, reason: unknown): void
  expireInput(inputId: string): void
  /** A resumed run only waits; it may leave memory. */
  dormant(run: HostedRun, wait: DormantWait): void
}

/** The number of store failures in a row, without progress, after which a run is no longer resumed. */
export const MAX_LOSSES = 5

/** The state that a resumed run inherits from the earlier process. */
export interface Earlier {
  readonly record: StoredRun
  readonly progress: RunProgress
  readonly log: RecalledLog
  /** How often its store failed since it last made progress; default 0. */
  readonly losses?: number | undefined
}
