import type { Surfaces } from '../access/surfaces.ts'
import type {
  ApprovalAnswer,
  EventBus,
  FoundInput,
  InputAnswer,
  InputPage,
  InputQuery,
  NumberedPart,
  RunInput,
  Runnable,
  RunMiddleware,
  RunPage,
  RunQuery,
  RunSummary,
  StoredRun,
  Stores
} from '@svc/contract'
import type { TransientPart } from './log/log-reader.ts'
import type { RecordOptions } from '../options.ts'
import type { Schedules } from '../schedules/schedules.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { Run } from './run.ts'
import type { StartOptions } from './start-options.ts'

export type { Run } from './run.ts'

/** Why a start would be refused. */
export interface StartRefusal {
  /** RUN_ERR_DRAINING, RUN_ERR_OVERLOADED, RUN_ERR_TOO_MANY_RUNS or RUN_ERR_WAITING_LIMIT. */
  readonly error: Error
  /** True if starts of the owner are refused more than 20 times a second. */
  readonly often: boolean
}

/** Executes runnables: numbers their parts, keeps their logs, and ends their runs. One per Fastify app: `fastify.runs`. */
export interface RunEngine {
  readonly stores: Stores
  readonly events: EventBus
  /** The runnables that the surfaces of the engine expose. */
  readonly surfaces: Surfaces
  /** Starts runs at given times. */
  readonly schedules: Schedules
  /** Conversations: lists and reads them, and follows them over their runs. */
  readonly sessions: Sessions
  /** Where runs are reported. */
  readonly webhooks: Webhooks
  /** What is recorded of each run. */
  readonly record: Readonly<Required<RecordOptions>>
  /** The number of runs in progress in this process. */
  readonly active: number
  /** True if new runs are refused because the service is shutting down. */
  readonly draining: boolean
  /** True while `recover` has not yet processed every run that a crash left. */
  readonly recovering: boolean
  /** Aborts when the engine has closed; runs left for another process produce no more parts here. */
  readonly closed: AbortSignal
  /**
   * Starts a run; resolves once its record is stored. Without an input, `messages` must end with what is to be answered.
   * @throws RUN_ERR_BAD_INPUT, RUN_ERR_NO_CONVERSATION, RUN_ERR_TOOL_NAME_TAKEN, RUN_ERR_WHEN_BUSY, RUN_ERR_SESSION_BUSY, RUN_ERR_NO_TURN, RUN_ERR_DRAINING, RUN_ERR_OVERLOADED, RUN_ERR_TOO_MANY_RUNS, RUN_ERR_WAITING_LIMIT, RUN_ERR_KEY_REUSED,
   * RUN_ERR_NO_LEASE, RUN_ERR_STORE
   */
  start(runnable: Runnable, input: RunInput, options?: StartOptions): Promise<Run>
  /**
   * Why a start of this owner would be refused now; undefined if no limit is reached. Surfaces ask before they read the body of a request, and
   * refuse it then.
   * @param often true: only if starts of the owner are refused often, more than 20 times a second
   * @param runs how many are to be started, in one session; default 1
   */
  refusal(owner: string, often?: boolean, runs?: number): StartRefusal | undefined
  /**
   * The stored run; finished runs are included while they are retained. What a crash left is resumed or ended first, so that no dead run
   * is found as under way. @throws what the store throws
   */
  get(runId: string): Promise<StoredRun | undefined>
  /** The same without fields that may be large. */
  find(runId: string): Promise<RunSummary | undefined>
  list(query: RunQuery): Promise<RunPage>
  /** The error of a run that its store's failure has stopped; the run is ended once the store works again. */
  faultOf(runId: string): Error | undefined
  /** The parts of any run, as in `Run.parts`. */
  parts(runId: string, after?: number, signal?: AbortSignal): AsyncIterable<NumberedPart>
  /**
   * Calls `listener` with each `data` part of a run in this process that is `transient`, until the returned function is called. Such
   * parts are in no log.
   */
  followTransients(runId: string, listener: (part: TransientPart) => void): () => void
  /**
   * Ends a run as canceled, whichever node has it. Resolves with a run that has not ended yet if its node does not end it within 2
   * seconds; it will then be canceled later. @throws RUN_ERR_NOT_FOUND, RUN_ERR_TERMINAL, RUN_ERR_STORE
   */
  cancel(runId: string): Promise<RunSummary>
  /**
   * Has a message join a run under way before its next model call; resolves with true once it is in the log. False if the run has ended,
   * makes no more model calls, or is not `steerable`. A message has no files.
   * @param options `startKey` makes it join once, however often it is sent
   * @throws RUN_ERR_NOT_FOUND, RUN_ERR_WHEN_BUSY, RUN_ERR_KEY_REUSED, RUN_ERR_STORE
   */
  steer(
    runId: string,
    message: RunInput,
    options?: Pick<StartOptions, 'startKey' | 'redact'>
  ): Promise<boolean>
  /** Lists pending approvals, questions and client tools. */
  listInputs(query: InputQuery): Promise<InputPage>
  /** An input, answered or not, and its run, as in `get`; the id of an approval is its `approvalId`. */
  findInput(inputId: string): Promise<FoundInput | undefined>
  /**
   * Answers an approval, a question or a client tool; the first answer counts.
   * @throws RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_BAD_INPUT, RUN_ERR_INPUT_ANSWERED, RUN_ERR_INPUT_EXPIRED, RUN_ERR_STORE
   */
  answer(inputId: string, answer: ApprovalAnswer | InputAnswer): Promise<RunSummary>
  /**
   * Recovers the runs that a crash left in the store, a page at a time. Ends them as `failed` with RUN_ERR_INTERRUPTED and returns
   * their number. Resumable runs are resumed instead, a few at a time, once their runnable is known, and end like the others after
   * `resumeTimeout`. A resumable run that only waits for durable inputs and times leaves memory until it is woken. New runs may
   * start in the meantime. If several processes share the stores, only runs that none of them has are recovered, and from then on
   * also those that another one leaves. @throws what the store throws; call it again
   */
  recover(): Promise<number>
  /**
   * Makes a runnable known, and resumes the runs that wait for it; returns their number.
   * @param registry default: the id of the registry that has the runnable
   */
  resume(runnable: Runnable, registry?: string): Promise<number>
  /** Forgets a runnable that `resume` made known; its runs wait for the next one of its name. */
  release(runnable: Runnable, registry?: string): void
  /** Puts middleware around the runs that begin from now on, within what earlier calls have put around them. */
  use(middleware: readonly RunMiddleware[]): void
  /**
   * Refuses new runs and waits for those in progress, which can still be read, watched, canceled and answered. Resolves when they
   * have ended, or after `timeout` milliseconds; default `drainTimeout`. A run that another process can resume starts no further
   * step, and is not waited for once its current steps are recorded: if several processes share the stores, it is handed over then. A
   * later call waits for the first one.
   * @throws REG_ERR_BAD_OPTION
   */
  drain(timeout?: number): Promise<void>
  /**
   * Drains, then ends the remaining runs as failed with RUN_ERR_INTERRUPTED. Runs that another process can resume are left as they
   * are; waiting for their result here rejects with RUN_ERR_SUSPENDED.
   */
  close(): Promise<void>
}
