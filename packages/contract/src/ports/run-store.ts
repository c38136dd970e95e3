import type { InputKind, InputOutcome, SteeringMessage } from '../inputs.ts'
import type { JsonPieces } from '../json.ts'
import type { RunnableKey, RunnableKind } from '../names.ts'
import type { MetadataFilter, PartError, RunMetadata } from '../part.ts'
import type { RunResult, RunStats, RunStatus } from '../run-result.ts'
import type { Awaitable } from '../awaitable.ts'

/** Why a run failed: the error that clients see, and its HTTP status. */
export interface StoredError extends PartError {
  statusCode: number
  /** Seconds to wait before a new attempt, if the provider gave them. */
  retryAfter?: number
}

/** An idempotency key for the start of a run; the same key with another `hash` is a different request. */
export interface StartKey {
  key: string
  /** Hash of the whole request. */
  hash: string
}

/** How a run that is canceled for a later message of its session leaves its turn. */
export interface LeftTurn {
  /** The owner of the session. */
  readonly owner: string
  /** True if the session keeps what the run has said so far; false if nothing of the run stays in it. */
  readonly keep: boolean
}

/**
 * The format in which this release writes logs, steps and checkpoints, of 1 and more. It is raised with everything in them that an earlier
 * release cannot continue from; a process leases only runs of a format up to its own.
 */
export const RUN_FORMAT = 2

/** A run as a store keeps it. Times are milliseconds since the epoch. */
export interface StoredRun extends RunnableKey {
  readonly runId: string
  readonly sessionId: string
  readonly owner: string
  /** Whose sessions and memories it uses, if its caller had no credentials and gave a `userId`. */
  readonly userId?: string
  /** Identifies repeated requests for the same run; null if none was given. */
  readonly startKey: StartKey | null
  /** Null if the caller attached none. */
  readonly metadata: RunMetadata | null
  readonly createdAt: number
  /** When it was put into the queue (`RunQueue`); null if it began at once. */
  readonly queuedAt: number | null
  updatedAt: number
  status: RunStatus
  /** Fencing token: every lease increments it, every write names it. 0 while the run waits in the queue. */
  epoch: number
  /** The format of its log, its steps and its checkpoint: `RUN_FORMAT` of the release that created it. */
  readonly format: number
  result: RunResult | null
  error: StoredError | null
  /** True if it is to be canceled by the process that has it, or takes it. */
  cancelRequested: boolean
  /** Null unless a later message of its session has it canceled. */
  leftTurn: LeftTurn | null
  inputs: readonly StoredInput[]
}

/** A message that is to join a run under way, for the process that has the run. */
export interface StoredSteer {
  readonly steerId: string
  readonly runId: string
  /** Hash of the whole request if it has an idempotency key, of which `steerId` is made; else null. */
  readonly hash: string | null
  readonly message: SteeringMessage
}

/** A run in a list: its record without fields that may be large. */
export interface RunSummary extends Readonly<Omit<StoredRun, 'result' | 'inputs'>> {
  /** The approximate size of its stored data: the log and, if stored separately, the result and steps. */
  readonly bytes: number
  /** The beginning of its result; null while there is none. */
  readonly preview: string | null
  /** What it took; null until it ends. */
  readonly stats: RunStats | null
  /** Its place among the waiting runs of its owner, from 1; null if it does not wait in the queue. */
  readonly queuePosition: number | null
  /** The pending approvals, and the other pending inputs. */
  readonly waiting: { readonly approvals: PendingSummary; readonly inputs: PendingSummary }
}

/** A change of a run's record, written in one transaction with the parts that cause it. */
export interface RunChange {
  status: RunStatus
  at: number
  result?: RunResult
  /** The beginning of the result. */
  preview?: string
  /** What the run took, if it ends. */
  stats?: RunStats
  error?: StoredError
  /** A new pending input. */
  input?: StoredInput
}

/** A recorded step of a run: any JSON under its key. */
export interface StepRecord {
  readonly key: string
  readonly output: unknown
}

/**
 * Selects runs; they are listed by their creation, with `since` by their last change. A page looks at a bounded number of runs: it may be short,
 * even empty, before the last one.
 */
export interface RunQuery {
  scope?: RunScope
  owner?: string
  status?: RunStatus
  kind?: RunnableKind
  name?: string
  /** One text of its metadata. Fast with an `owner` only. */
  metadata?: MetadataFilter
  /** Only runs that changed then or later; milliseconds since the epoch. Fast with an `owner` only. */
  since?: number
  /** Default `desc`, the newest first. */
  order?: 'asc' | 'desc'
  /** At most this many; 1–1,000. */
  limit: number
  /** The `nextCursor` of the previous page, or `formatRunCursor` of a run on it, by its `createdAt`, with `since` by its `updatedAt`. */
  cursor?: string
}

/** One page of runs; `nextCursor` is null on the last page. */
export interface RunPage {
  runs: RunSummary[]
  nextCursor: string | null
}

/** A value that is wanted, or that is not. */
export type Wanted<T> = { readonly is: T } | { readonly isNot: T }

/** Selects runs of one owner; the last changed come first. */
export interface ChangedRunQuery {
  owner: string
  scope: RunScope
  sessionId?: string
  status?: RunStatus
  /** Only runs that failed with this code, or only others. */
  errorCode?: Wanted<string>
  /** Only runs that wait for an input of this kind, among others, or only runs that do not. */
  inputKind?: Wanted<InputKind>
  /** Only runs that changed then or later; milliseconds since the epoch. */
  since?: number
  /** At most this many; 1–1,000. */
  limit: number
  /** The `nextCursor` of the previous page, or `formatRunCursor` of a run on it, by its `updatedAt`. */
  cursor?: string
}

/** One page of changed runs. */
export interface ChangedRunPage extends RunPage {
  /** The total on all pages; a store may count the last changes only, at least 2,000. */
  total: number
}

/** Selects the runs of a person: those of an owner, or those without credentials that name this `userId`. */
export interface OwnedRunQuery {
  /** An owner; that of all callers without credentials selects their runs without a `userId`. */
  owner: string
  /** Only those of this session. */
  session?: RunnableKey & { readonly sessionId: string }
  /** True for unfinished runs, false for ended ones; default both. */
  unfinished?: boolean
  /** At most this many; 1–1,000. */
  limit: number
}

/** An unfinished run that no living process has, with the fields that recovery needs. */
export interface LeftRun extends Pick<
  StoredRun,
  'runId' | 'registry' | 'kind' | 'name' | 'owner' | 'cancelRequested'
> {
  /** The size of its checkpoint, null if it has none. Left out by stores for which that costs as much as `CheckpointStore.size`. */
  readonly checkpointBytes?: number | null
}

/** Selects the runs that no living process has. */
export interface LeftQuery {
  /** At most this many; 1–1,000. */
  limit: number
  /** The `nextCursor` of the previous page. */
  cursor?: string
}

/** One page of left runs; `nextCursor` is null on the last page. */
export interface LeftPage {
  runs: LeftRun[]
  nextCursor: string | null
}

/**
 * Keeps the records of runs and the journal of their steps. Lists and `find` read nothing that may be large, neither results nor
 * long arguments.
 */
export interface RunStore {
  /**
   * Adds a new run, which this process has. If its owner already has one of the same registry with the same start key, adds
   * nothing and returns that one.
   * @param maxPerOwner a store that several processes share counts the unfinished runs of the owner on all of them, but not those that wait
   * in the queue; other stores ignore it, since the engine counts its own
   * @throws RUN_ERR_TOO_MANY_RUNS if the owner already has `maxPerOwner` unfinished runs; any other error if its id is taken
   */
  create(run: StoredRun, maxPerOwner?: number): Awaitable<RunSummary | undefined>
  /**
   * The complete run, as a snapshot that later writes do not change; undefined if there is none. Large runs may take several
   * turns of the event loop.
   */
  get(runId: string): Awaitable<StoredRun | undefined>
  /** The run without fields that may be large. */
  find(runId: string): Awaitable<RunSummary | undefined>
  /** The run that its owner has begun with this start key, without fields that may be large. */
  findStarted(run: Pick<StoredRun, 'owner' | 'registry' | 'startKey'>): Awaitable<RunSummary | undefined>
  /** Takes the start key from an ended run, so that the next start with the key begins another one; unfinished runs keep theirs. */
  freeStartKey(runId: string): Awaitable<void>
  /** The JSON of a run's result; no pieces if there is none. */
  readResult(runId: string): JsonPieces
  /**
   * Newest first by `createdAt`, then by id; with `since` as `listChanged`.
   * @throws REG_ERR_BAD_CURSOR
   */
  list(query: RunQuery): Awaitable<RunPage>
  /**
   * Last changed first, by `updatedAt`, then by id; runs that change after a page was read are on no later page. Clients request
   * pages freely, so no record outside the page should be read. @throws REG_ERR_BAD_CURSOR
   */
  listChanged(query: ChangedRunQuery): Awaitable<ChangedRunPage>
  /** The ids of the runs of a person, in any order. */
  listOwned(query: OwnedRunQuery): Awaitable<string[]>
  /** Pending inputs; new and answered ones do not move others to another page. */
  listInputs(query: InputQuery): Awaitable<InputPage>
  /** An input, answered or not. */
  findInput(inputId: string): Awaitable<FoundInput | undefined>
  /** The JSON of an input's arguments; no pieces if there are none. */
  readArgs(inputId: string): JsonPieces
  /**
   * Runs in no terminal state that no living process has, in any constant order, for recovery after a crash. For a store of one
   * process those are all unfinished runs. Runs that wait in the queue, or of a later format, are left out. Reads neither results nor arguments of inputs.
   * @throws REG_ERR_BAD_CURSOR
   */
  listLeft(query: LeftQuery): Awaitable<LeftPage>
  /**
   * Leases a run for this process: increments and returns its epoch; undefined if the run is terminal, unknown or of a later format, or if
   * another living process has it.
   */
  lease(runId: string): Awaitable<number | undefined>
  /**
   * Records that a run is to be canceled, so that a process that takes it over ends it; false if it is terminal or unknown. The
   * process that has it is notified by a control message, which may get lost: a store of several processes then repeats it.
   * @param leftTurn recorded in the same transaction, unless the run was to be canceled before
   */
  requestCancel(runId: string, leftTurn?: LeftTurn): Awaitable<boolean>
  /** Records the answer to a pending input: true for the first answer, false for every later one. */
  answerInput(runId: string, inputId: string, answer: InputOutcome): Awaitable<boolean>
  /**
   * Replaces a sealed answer by an open one, or by null: the input is then pending again. Its `sealKey` becomes the given one, or is
   * removed. False if it has another answer by now.
   * @param sealed null to give a pending input another `sealKey`; `answer` is then null too
   */
  replaceAnswer(
    inputId: string,
    sealed: InputOutcome | null,
    answer: InputOutcome | null,
    sealKey?: string
  ): Awaitable<boolean>
  /** The recorded value of a step; undefined if it is not recorded. The steps of a run are removed when it ends. */
  readStep(runId: string, key: string): Awaitable<{ output: unknown } | undefined>
  /** Records a step once. @throws RUN_ERR_FENCED if the epoch is outdated or the run is terminal */
  recordStep(runId: string, epoch: number, key: string, output: unknown): Awaitable<void>
  /**
   * Keeps a message that is to join an unfinished run, until the run is removed; returns what is kept under its `steerId`, which may be
   * an earlier one. Undefined if the run is terminal or unknown, and nothing was kept before.
   */
  offerSteer(steer: StoredSteer): Awaitable<StoredSteer | undefined>
  /** What is kept under this `steerId`, whether it has joined its run or not. */
  findSteer(steerId: string): Awaitable<StoredSteer | undefined>
  /** Removes a run with its log, steps and inputs. */
  remove(runId: string): Awaitable<void>
  /** Removes the finished runs that exceed the store's retention; returns their number. */
  sweep(now: number): Awaitable<number>
  /**
   * Calls the listener with the ids of runs before this process removes them, for whatever reason, until the returned function is
   * called. A store that outlives its process waits for the listener, and keeps the runs if it rejects. Optional: without it, the
   * files of removed runs stay.
   */
  onRemove?(listener: (runIds: readonly string[]) => Awaitable<void>): () => void
}

/** The runs that a surface shows: those of the listed runnables, and those of one registry. */
export interface RunScope {
  readonly runnables: readonly RunnableKey[]
  readonly registry?: RegistryScope
}

/** The runs of a registry, by its id; their runnables need not be registered now. */
export interface RegistryScope {
  readonly id: string
  readonly kinds: readonly RunnableKind[]
  /** Runnables that only other surfaces expose under this id. */
  readonly except: readonly Pick<RunnableKey, 'kind' | 'name'>[]
}

/** A runnable's key as one string; neither ids nor names contain a slash. */
export function runnableKeyText({ registry, kind, name }: RunnableKey): string {
  return `${registry}/${kind}/${name}`
}

/** Returns a predicate for the runs in a scope. */
export function createScopeFilter({ runnables, registry }: RunScope): (run: RunnableKey) => boolean {
  const keys = new Set(runnables.map(runnableKeyText))
  if (registry === undefined) return (run) => keys.has(runnableKeyText(run))
  const { id, kinds } = registry
  const except = new Set(
    registry.except.map(({ kind, name }) => runnableKeyText({ registry: id, kind, name }))
  )
  return (run) => {
    const key = runnableKeyText(run)
    return keys.has(key) || (run.registry === id && kinds.includes(run.kind) && !except.has(key))
  }
}

/** An input that a run waits for, as a store keeps it. Times are milliseconds since the epoch. */
export interface StoredInput {
  /** The run's id and a number, such as `<runId>.1`: the inputs of a run are numbered from 1. */
  inputId: string
  kind: InputKind
  /** The question. */
  message?: string
  /** JSON Schema of the answer's content. */
  schema?: unknown
  toolCallId?: string
  toolName?: string
  args?: unknown
  /** The path of member or step names that clients see. */
  source: readonly string[]
  /** The path of keys of what asked; unlike `source`, unique per call of a member. */
  path: readonly string[]
  expiresAt: number
  /**
   * A public key, if the caller gave the run a key of its own, or if the input is `auth`, in stores that several processes share: other
   * processes encrypt their answers to it, since they cannot redact the caller's key. A JWK as JSON.
   */
  sealKey?: string
  /** Null while it is pending. */
  answer: InputOutcome | null
}

/** An input in a list: with its arguments if they are short, else with a preview of them. */
export interface InputSummary extends Omit<StoredInput, 'args' | 'path'> {
  /** Undefined if their JSON is longer than `MAX_LISTED_ARGS`. */
  args?: unknown
  /** The beginning of the JSON of longer ones. */
  argsPreview?: string
  /** Size of their JSON in bytes. */
  argsBytes: number
}

/** Pending inputs of a run: the first ones to expire, and their total number. */
export interface PendingSummary {
  readonly first: readonly InputSummary[]
  readonly count: number
}

/** The run of an input. */
export interface InputRun extends RunnableKey {
  readonly runId: string
  readonly owner: string
  readonly createdAt: number
  readonly status: RunStatus
}

/** An input and its run. */
export interface FoundInput {
  run: InputRun
  input: InputSummary
}

/** Selects pending inputs; those of the newest run come first, within a run those that expire first. */
export interface InputQuery {
  kinds: readonly InputKind[]
  scope?: RunScope
  owner?: string
  runId?: string
  /** At most this many; 1–1,000. */
  limit: number
  /** The `nextCursor` of the previous page, or `formatInputCursor` of an input on it. */
  cursor?: string
}

/** One page of pending inputs; `nextCursor` is null on the last page. */
export interface InputPage {
  inputs: FoundInput[]
  nextCursor: string | null
}
