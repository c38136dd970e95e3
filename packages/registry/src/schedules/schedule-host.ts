import type { Exposures } from '../access/exposures.ts'
import type { QueuedStart, RunInput, RunLog, Runnable, RunnableKey, Stores } from '@svc/contract'
import type { StartOptions } from '../engine/start-options.ts'

/** The parts of the engine that schedules need. */
export interface ScheduleHost {
  readonly stores: Stores
  readonly log: RunLog
  readonly exposures: Exposures
  /** Aborts when the engine begins to close. */
  readonly closing: AbortSignal
  readonly interrupted: {
    /** The keys of the resumable runnables of this process. */
    readonly known: RunnableKey[]
    find(key: RunnableKey): Runnable | undefined
    know(runnable: Runnable, registry: string): RunnableKey
  }
  readonly queued: {
    /**
     * Builds what the queue stores of a new run.
     * @throws RUN_ERR_BAD_INPUT, RUN_ERR_NOT_QUEUEABLE, RUN_ERR_SCHEDULE_BINARY, RUN_ERR_LOG_LIMIT
     */
    prepare(runnable: Runnable, input: RunInput, options: StartOptions): QueuedStart
    /** Begins waiting runs from now on. */
    serve(): void
  }
}
