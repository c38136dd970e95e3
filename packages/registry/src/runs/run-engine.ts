import type { Exposures } from '../access/exposures.ts'
import type { RunInput } from '../contract/content-part.ts'
import type { EventBus } from '../contract/event-bus.ts'
import type { NumberedPart } from '../contract/part.ts'
import type {
  ApprovalPage,
  ApprovalQuery,
  FoundApproval,
  RunPage,
  RunQuery,
  RunSummary,
  StoredRun
} from '../contract/ports/run-store.ts'
import type { Stores } from '../contract/ports/stores.ts'
import type { ApprovalAnswer } from '../contract/run-record.ts'
import type { RunResult } from '../contract/run-result.ts'
import type { Runnable } from '../contract/runnable.ts'
import type { StartOptions } from './start-options.ts'

/** One execution, from where it was started. */
export interface Run {
  readonly runId: string
  readonly sessionId: string
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** Whether it was started before, with the same start key: another's it is to cancel. */
  readonly replayed: boolean
  /** The result once the run has ended, a canceled one included. Rejects with the run's error when it failed. */
  result(): Promise<RunResult>
  /** The parts with a `seq` over `after`, those to come included, until the run's last or until the signal aborts. */
  parts(after?: number, signal?: AbortSignal): AsyncIterable<NumberedPart>
  /** Ends the run as canceled; false when it had ended before. */
  cancel(): Promise<boolean>
}

/** Executes runnables: numbers their parts, keeps their logs, ends them. One a Fastify app: `fastify.runs`. */
export interface RunEngine {
  readonly stores: Stores
  readonly events: EventBus
  /** What the surfaces of the engine expose. */
  readonly exposures: Exposures
  /** Runs under way in this process. */
  readonly active: number
  /** Whether new runs are refused because the service shuts down. */
  readonly draining: boolean
  /** Whether `recover` has not yet come to the end of what a crash left. */
  readonly recovering: boolean
  /** Aborts when the engine is closed: nothing more comes of a run that is left for another process. */
  readonly closed: AbortSignal
  /**
   * Starts a run; resolves when its record is stored.
   * @throws RUN_ERR_BAD_INPUT, RUN_ERR_DRAINING, RUN_ERR_OVERLOADED, RUN_ERR_TOO_MANY_RUNS, RUN_ERR_KEY_REUSED,
   * RUN_ERR_STORE
   */
  start(runnable: Runnable, input: RunInput, options?: StartOptions): Promise<Run>
  /** The stored run, finished ones included for as long as they are kept. */
  get(runId: string): Promise<StoredRun | undefined>
  /** The same without what may be large. */
  find(runId: string): Promise<RunSummary | undefined>
  list(query: RunQuery): Promise<RunPage>
  /** Why nothing more comes of a run under way, for now: its store failed, and the run is ended when that works again. */
  faultOf(runId: string): Error | undefined
  /** Parts of any run by id, as `Run.parts`. */
  parts(runId: string, after?: number, signal?: AbortSignal): AsyncIterable<NumberedPart>
  /** Ends a run as canceled. @throws RUN_ERR_NOT_FOUND, RUN_ERR_TERMINAL, RUN_ERR_STORE */
  cancel(runId: string): Promise<RunSummary>
  /** The approvals that runs wait for. */
  listApprovals(query: ApprovalQuery): Promise<ApprovalPage>
  /** An approval, answered or not, and whose it is. */
  findApproval(approvalId: string): Promise<FoundApproval | undefined>
  /**
   * Answers an approval, once.
   * @throws RUN_ERR_BAD_INPUT, RUN_ERR_APPROVAL_NOT_FOUND, RUN_ERR_APPROVAL_ANSWERED, RUN_ERR_STORE
   */
  answer(approvalId: string, answer: ApprovalAnswer): Promise<RunSummary>
  /**
   * Looks after what a crash left in the store, a page at a time: ends it as `failed` with RUN_ERR_INTERRUPTED; gives how
   * many. A run that can go on does, a few at a time, where its runnable is known; else it waits for it, and ends like the
   * others after `resumeTimeout`. One that then only waits, for durable approvals and times, leaves memory until it is woken.
   * New runs may start meanwhile. @throws what the store throws; call it again
   */
  recover(): Promise<number>
  /**
   * Makes a runnable known, and goes on with the runs that wait for it; gives how many. Default: those of the registry that
   * has it.
   */
  resume(runnable: Runnable, registry?: string): Promise<number>
  /** Forgets a runnable that was made known: its runs wait for the next one of its name. */
  release(runnable: Runnable, registry?: string): void
  /**
   * Refuses new runs and waits for those under way, which can still be read, watched, canceled and answered. Resolves when
   * they have ended, or after `timeout` milliseconds; default `drainTimeout`. A run that can go on in another process begins
   * no further step, and is not waited for once its steps under way are recorded. A later call waits for the first one.
   * @throws REG_ERR_BAD_OPTION
   */
  drain(timeout?: number): Promise<void>
  /**
   * Drains, then ends the runs that are left as failed with RUN_ERR_INTERRUPTED. One that can go on in another process is left
   * as it is; who waits for its result here gets RUN_ERR_SUSPENDED.
   */
  close(): Promise<void>
}
