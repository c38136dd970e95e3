import type { Exposures } from '../access/exposures.ts'
import type { RunInput } from '../contract/content-part.ts'
import type { RunnableKey } from '../contract/names.ts'
import type { QueuedStart } from '../contract/ports/run-queue.ts'
import type { Stores } from '../contract/ports/stores.ts'
import type { RunLog } from '../contract/run-log.ts'
import type { Runnable } from '../contract/runnable.ts'
import type { StartOptions } from '../runs/start-options.ts'

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
