import type { RunnableKey, RunnableKind } from '../names.ts'
import type { ApprovalOutcome } from '../approval.ts'
import type { PartError } from '../part.ts'
import type { RunStatus } from '../run-record.ts'
import type { RunResult } from '../run-result.ts'
import type { JsonPieces } from '../../wire/encode-pieces.ts'
import type { Awaitable } from './awaitable.ts'
import type { RunScope } from './run-scope.ts'

/** Why a run failed: what clients see, and the HTTP status that goes with it. */
export interface StoredError extends PartError {
  statusCode: number
  /** Seconds after which a new attempt makes sense, where the provider said so. */
  retryAfter?: number
}

/** An approval as a store keeps it; `answer` is null while it waits. Times are milliseconds since the epoch. */
export interface StoredApproval {
  approvalId: string
  toolCallId: string
  toolName: string
  args: unknown
  source: readonly string[]
  expiresAt: number
  answer: ApprovalOutcome | null
}

/** A client's own key for the start of a run: the same key with another `hash` asks for another run. */
export interface StartKey {
  key: string
  /** Of everything that was asked for. */
  hash: string
}

/** A run as a store keeps it. Times are milliseconds since the epoch. */
export interface StoredRun extends RunnableKey {
  readonly runId: string
  readonly sessionId: string
  readonly owner: string
  /** What tells a second request for the same run from a new one; null when none was given. */
  readonly startKey: StartKey | null
  readonly createdAt: number
  updatedAt: number
  status: RunStatus
  /** Fencing token: every lease raises it, every write names it. */
  epoch: number
  result: RunResult | null
  error: StoredError | null
  approvals: readonly StoredApproval[]
}

/** What is listed of an approval: its arguments where they are short, else how they begin. */
export interface ApprovalSummary extends Omit<StoredApproval, 'args'> {
  /** Undefined where their JSON is longer than `MAX_LISTED_ARGS`. */
  args?: unknown
  /** How the JSON of longer ones begins. */
  argsPreview?: string
  /** Bytes of their JSON. */
  argsBytes: number
}

/** What is listed of a run: its record without what may be large. */
export interface RunSummary extends Readonly<Omit<StoredRun, 'result' | 'approvals'>> {
  /** Of all that is kept of it, about: its log, and where they are kept apart its result and its steps. */
  readonly bytes: number
  /** How its result begins; null while there is none. */
  readonly preview: string | null
  /** The approvals that the run waits for: the first ones by when they expire, and how many there are. */
  readonly waiting: { readonly approvals: readonly ApprovalSummary[]; readonly count: number }
}

/** An approval and whose it is. */
export interface FoundApproval {
  run: Pick<StoredRun, 'runId' | 'registry' | 'kind' | 'name' | 'owner' | 'createdAt' | 'status'>
  approval: ApprovalSummary
}

/** A change of a run, written in one transaction with the parts that tell of it. */
export interface RunChange {
  status: RunStatus
  at: number
  result?: RunResult
  /** How the result begins. */
  preview?: string
  error?: StoredError
  /** An approval that begins to wait. */
  approval?: StoredApproval
}

/** Which runs to list: newest first, those of one owner where `owner` is given. */
export interface RunQuery {
  scope?: RunScope
  owner?: string
  status?: RunStatus
  kind?: RunnableKind
  name?: string
  /** At most this many; 1–1,000. */
  limit: number
  /** Where the page before ended: its `nextCursor`, or `formatRunCursor` of a run on it, by its `createdAt`. */
  cursor?: string
}

/** One page of runs; `nextCursor` is null on the last one. */
export interface RunPage {
  runs: RunSummary[]
  nextCursor: string | null
}

/** Which of the approvals that wait to list: those of the newest run first, of one run those that expire first. */
export interface ApprovalQuery {
  scope?: RunScope
  owner?: string
  runId?: string
  /** At most this many; 1–1,000. */
  limit: number
  /** Where the page before ended: its `nextCursor`, or `formatApprovalCursor` of an approval on it. */
  cursor?: string
}

/** One page of them. */
export interface ApprovalPage {
  approvals: FoundApproval[]
  nextCursor: string | null
}

/** Which runs of one owner to list: those that changed last first. */
export interface ChangedRunQuery {
  owner: string
  scope: RunScope
  sessionId?: string
  status?: RunStatus
  /** Those that changed then or later; milliseconds since the epoch. */
  since?: number
  /** At most this many; 1–1,000. */
  limit: number
  /** Where the page before ended: its `nextCursor`, or `formatRunCursor` of a run on it, by its `updatedAt`. */
  cursor?: string
}

/** One page of them. */
export interface ChangedRunPage extends RunPage {
  /** How many there are on all pages. */
  total: number
}

/** A run in no terminal state, with the little of it that recovery goes by. */
export type UnfinishedRun = Pick<StoredRun, 'runId' | 'registry' | 'kind' | 'name' | 'owner'>

export interface UnfinishedQuery {
  /** At most this many; 1–1,000. */
  limit: number
  /** Where the page before ended: its `nextCursor`. */
  cursor?: string
}

/** One page of them; `nextCursor` is null on the last one. */
export interface UnfinishedPage {
  runs: UnfinishedRun[]
  nextCursor: string | null
}

/**
 * Keeps the records of runs and the journal of their steps. A list, or a look at one run, reads nothing that may be large:
 * neither results nor long arguments.
 */
export interface RunStore {
  /**
   * Adds a new run; when its owner has one of the same registry with the same start key already, gives that one and adds
   * nothing.
   * @throws when its id is taken
   */
  create(run: StoredRun): Awaitable<RunSummary | undefined>
  /**
   * All of a run, a snapshot that later writes do not change; undefined when there is no such run. What is large may take
   * several turns of the event loop.
   */
  get(runId: string): Awaitable<StoredRun | undefined>
  /** The same without what may be large. */
  find(runId: string): Awaitable<RunSummary | undefined>
  /** The JSON of a run's result; no pieces where there is none. */
  readResult(runId: string): JsonPieces
  /** Newest first by `createdAt`, then by id. A cursor that no page gave is REG_ERR_BAD_CURSOR. */
  list(query: RunQuery): Awaitable<RunPage>
  /**
   * Last changed first, by `updatedAt`, then by id; what changes after a page was given comes on no later one. Clients ask
   * for pages freely: no record outside of the page should be read. A cursor that no page gave is REG_ERR_BAD_CURSOR.
   */
  listChanged(query: ChangedRunQuery): Awaitable<ChangedRunPage>
  /** The approvals that runs wait for; what else is asked for or answered meanwhile moves no other to another page. */
  listApprovals(query: ApprovalQuery): Awaitable<ApprovalPage>
  /** One approval, answered or not. */
  findApproval(approvalId: string): Awaitable<FoundApproval | undefined>
  /** The JSON of an approval's arguments; no pieces where there are none. */
  readArgs(approvalId: string): JsonPieces
  /**
   * Runs in no terminal state, oldest first: what a crash left. Neither their results nor the arguments of their approvals
   * are read. A cursor that no page gave is REG_ERR_BAD_CURSOR.
   */
  listUnfinished(query: UnfinishedQuery): Awaitable<UnfinishedPage>
  /** Takes a run that is not terminal: raises its epoch and gives it; undefined when it is terminal or unknown. */
  lease(runId: string): Awaitable<number | undefined>
  /** Records the answer of an approval that waits: true for the first answer, false for every later one. */
  answerApproval(runId: string, approvalId: string, answer: ApprovalOutcome): Awaitable<boolean>
  /** The recorded value of a step; undefined when it is not recorded. */
  readStep(runId: string, key: string): Awaitable<{ output: unknown } | undefined>
  /** Records a step once. @throws RUN_ERR_FENCED when the epoch is no longer the run's or the run is terminal */
  recordStep(runId: string, epoch: number, key: string, output: unknown): Awaitable<void>
  /** Removes a run with its log, steps and approvals. */
  remove(runId: string): Awaitable<void>
  /** Removes the finished runs that the store's retention no longer keeps; gives how many. */
  sweep(now: number): Awaitable<number>
}
