import type { Redact } from '../access/redact-value.ts'
import type { RunInput } from '../contract/content-part.ts'
import type { NumberedPart } from '../contract/part.ts'
import type { Authorize, Principal } from '../contract/principal.ts'
import type { Envelope, RunLog } from '../contract/run-context.ts'
import type { ApprovalAnswer } from '../contract/run-record.ts'
import type { ProviderKey } from '../contract/provider-key.ts'
import type { RunResult } from '../contract/run-result.ts'
import type { Runnable } from '../contract/runnable.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { RunPage, RunQuery, StartKey, StoredApproval, StoredRun } from '../stores/run-store.ts'
import type { Stores } from '../stores/stores.ts'

/** What a run is started with. */
export interface StartOptions {
  /** Default: a new one. */
  sessionId?: string | undefined
  /** Separates sessions and memory where there are no credentials. */
  userId?: string | undefined
  /** Who calls; default anonymous. Its `sub` owns the run. */
  principal?: Principal | undefined
  log?: RunLog | undefined
  /** What came around the input. */
  envelope?: Envelope | undefined
  /** Starts the run once: for the same owner and key, the run that was started is given again. */
  startKey?: StartKey | undefined
  /** The caller's own keys for model providers; a string is wrapped. */
  apiKey?: ((provider?: string) => ProviderKey | string | undefined) | undefined
  /** Takes those keys out of what the run tells and stores: its parts, its result, its error, and all that its stores are given. */
  redact?: Redact | undefined
  /** The app's policy, for runnables that reach others. */
  authorize?: Authorize | undefined
  /** Called each time the run begins to wait for an approval; the store may come to know of it a moment later. */
  onApprovalRequest?: (() => void) | undefined
}

/** One execution, from where it was started. */
export interface Run {
  readonly runId: string
  readonly sessionId: string
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
  /** Runs under way in this process. */
  readonly active: number
  /** Whether new runs are refused because the engine closes. */
  readonly draining: boolean
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
  list(query: RunQuery): Promise<RunPage>
  /** Parts of any run by id, as `Run.parts`. */
  parts(runId: string, after?: number, signal?: AbortSignal): AsyncIterable<NumberedPart>
  /** Ends a run as canceled. @throws RUN_ERR_NOT_FOUND, RUN_ERR_TERMINAL */
  cancel(runId: string): Promise<StoredRun>
  /** Finds an approval with its run. */
  findApproval(approvalId: string): Promise<{ run: StoredRun; approval: StoredApproval } | undefined>
  /** Answers an approval, once. @throws RUN_ERR_BAD_INPUT, RUN_ERR_APPROVAL_NOT_FOUND, RUN_ERR_APPROVAL_ANSWERED */
  answer(approvalId: string, answer: ApprovalAnswer): Promise<StoredRun>
  /**
   * Ends what a crash left in the store as `failed` with RUN_ERR_INTERRUPTED; gives how many. A run that can go on waits
   * for its runnable, and ends like the others after `resumeTimeout`.
   */
  recover(): Promise<number>
  /** Goes on with the runs of a runnable that wait for it; gives how many. */
  resume(runnable: Runnable): Promise<number>
  /**
   * Refuses new runs, waits for those under way, then ends them as failed. One that can go on in another process is left
   * as it is, as soon as its steps under way are recorded.
   */
  close(): Promise<void>
}
