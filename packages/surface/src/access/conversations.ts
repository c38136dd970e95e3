import {
  addUsage,
  codeOf,
  isLateAnswer,
  isTerminalStatus,
  ZERO_USAGE,
  type ApprovalAnswer,
  type InputAnswer,
  type Principal,
  type RunInput,
  type Runnable,
  type RunSummary,
  type StoredSession,
  type Usage
} from '@svc/contract'
import { RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_NOT_FOUND, RUN_ERR_SESSION_NOT_FOUND } from '@svc/contract/errors'
import type { Run, RunEngine } from '@svc/registry'
import { requireAnswer } from '@svc/registry/engine'
import {
  mayAnswer,
  requireRun,
  requireSession,
  type RunAccess,
  type SessionAccess,
  type SessionReference
} from './require-owned.ts'

/** The parts of a surface that decide which run of a conversation a caller reaches. */
export interface ConversationAccess extends SessionAccess {
  readonly runs: Pick<RunEngine, 'sessions' | 'find' | 'stores'>
  readonly exposed: SessionAccess['exposed'] & RunAccess['exposed']
}

/** Runs of an owner that are looked at for one that has not had its turn yet. */
const LOOKED_AT = 20

/**
 * The run under way in a conversation of the caller: the one that has the turn, else the first that waits for it. Undefined if there
 * is none, and for conversations of others.
 * @param reference or the session of the caller itself, which is then not read again
 * @throws ForeignUser of the surface, RUN_ERR_STORE
 */
export async function findActiveRun(
  access: ConversationAccess,
  reference: SessionReference | StoredSession,
  principal: Principal
): Promise<RunSummary | undefined> {
  const active = await activeRunOf(access, reference, principal)
  if (active !== undefined) return active
  return firstUnfinished(access, await runsOfConversation(access, reference, principal, LOOKED_AT))
}

// Runs of a conversation whose tokens are added up.
const COUNTED = 1_000

/** What the records of its runs say of a conversation. */
export interface ConversationState {
  /** As `findActiveRun` finds it. */
  readonly active: RunSummary | undefined
  /** The tokens of its last 1,000 runs, as far as they have ended. */
  readonly usage: Usage
}

/** The run under way in a conversation of the caller, and its tokens. @throws as `findActiveRun` */
export async function readConversation(
  access: ConversationAccess,
  reference: SessionReference | StoredSession,
  principal: Principal
): Promise<ConversationState> {
  const active = await activeRunOf(access, reference, principal)
  const runs = await runsOfConversation(access, reference, principal, COUNTED)
  return {
    active: active ?? (await firstUnfinished(access, runs)),
    usage: runs.reduce((sum, { stats }) => addUsage(sum, stats?.usage), ZERO_USAGE)
  }
}

async function activeRunOf(
  access: ConversationAccess,
  reference: SessionReference | StoredSession,
  principal: Principal
): Promise<RunSummary | undefined> {
  try {
    const { activeRun } =
      'activeRun' in reference ? reference : await requireSession(access, reference, principal)
    const run = activeRun === null ? undefined : await access.runs.find(activeRun)
    return run !== undefined && !isTerminalStatus(run.status) ? run : undefined
  } catch (err) {
    if (err instanceof RUN_ERR_SESSION_NOT_FOUND) return undefined
    throw err
  }
}

// A run enters its session when it has its turn; until then only its record names the session.
async function firstUnfinished(
  access: ConversationAccess,
  runs: readonly RunSummary[]
): Promise<RunSummary | undefined> {
  for (const { runId, status } of runs) {
    // What a crash left may still stand in lists as under way.
    const run = isTerminalStatus(status) ? undefined : await access.runs.find(runId)
    if (run !== undefined && !isTerminalStatus(run.status)) return run
  }
  return undefined
}

/**
 * The last runs of a conversation of the caller, oldest first; also those of runnables that keep no turns.
 * @param limit how many at most, 1–1,000, of all runnables with a session of this id
 */
export async function runsOfConversation(
  { runs, exposed }: ConversationAccess,
  { kind, name, sessionId, userId }: SessionReference,
  { sub: owner }: Principal,
  limit: number
): Promise<RunSummary[]> {
  const page = await runs.stores.runs.listChanged({ owner, scope: exposed.scope(), sessionId, limit })
  return page.runs
    .filter((run) => run.kind === kind && run.name === name && run.userId === userId)
    .toSorted((one, other) => one.createdAt - other.createdAt)
}

/** A run of a conversation that the caller reaches; any other run counts as missing. @throws RUN_ERR_NOT_FOUND */
export async function requireRunOf(
  access: RunAccess,
  { kind, name, sessionId }: SessionReference,
  runId: string,
  principal: Principal
): Promise<RunSummary> {
  const run = await requireRun(access, runId, principal)
  if (run.kind !== kind || run.name !== name || run.sessionId !== sessionId)
    throw new RUN_ERR_NOT_FOUND(runId)
  return run
}

/**
 * Cancels the run under way in a conversation of the caller; undefined if there is none, or it has ended meanwhile.
 * @throws ForeignUser of the surface, RUN_ERR_STORE
 */
export async function cancelActiveRun(
  access: ConversationAccess & { readonly runs: Pick<RunEngine, 'cancel'> },
  reference: SessionReference | StoredSession,
  principal: Principal
): Promise<RunSummary | undefined> {
  const run = await findActiveRun(access, reference, principal)
  if (run === undefined) return undefined
  try {
    return await access.runs.cancel(run.runId)
  } catch (err) {
    if (codeOf(err) === 'RUN_ERR_TERMINAL') return undefined
    throw err
  }
}

type StartOptions = NonNullable<Parameters<RunEngine['start']>[2]>

/**
 * Starts a run for a message of a conversation. It waits while another run of its session works, and is refused where that run waits for
 * the client itself, which would wait in vain; unless the caller or the runnable says what happens (`whenBusy`).
 * @param Waits the refusal
 * @throws Waits, and the errors of `RunEngine.start`
 */
export async function startUnlessWaiting(
  runs: Pick<RunEngine, 'start' | 'find' | 'stores'>,
  runnable: Runnable,
  input: RunInput,
  options: StartOptions,
  Waits: new () => Error
): Promise<Run> {
  const { takesTurns, queue } = runnable
  const isChosen = (options.whenBusy ?? runnable.whenBusy) !== undefined
  const canRefuse = takesTurns === true && queue !== true && runs.stores.sessions.place !== undefined
  if (isChosen || !canRefuse) return runs.start(runnable, input, options)
  try {
    return await runs.start(runnable, input, { ...options, whenBusy: 'reject' })
  } catch (err) {
    if (codeOf(err) !== 'RUN_ERR_SESSION_BUSY') throw err
    const { runId } = err as { runId?: string }
    const active = runId === undefined ? undefined : await runs.find(runId)
    if (active?.status === 'input-required') throw new Waits()
    return runs.start(runnable, input, { ...options, whenBusy: 'queue' })
  }
}

/** An answer of a request, and the input that it is for. */
export interface GivenAnswer {
  readonly inputId: string
  readonly answer: ApprovalAnswer | InputAnswer
}

/** The parts of a surface that answer inputs. */
export interface AnsweringAccess extends Pick<RunAccess, 'exposed' | 'policy'> {
  readonly runs: Pick<RunEngine, 'findInput' | 'answer'>
}

/**
 * Answers inputs that one request names, all or none: each must be one that the caller may answer, with an answer that fits. Returns
 * the ids of those that this call answered; an input that was answered before, or has expired meanwhile, is left out.
 * @throws RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_BAD_INPUT, RUN_ERR_STORE
 */
export async function answerInputs(
  access: AnsweringAccess,
  principal: Principal,
  given: readonly GivenAnswer[]
): Promise<string[]> {
  const open: GivenAnswer[] = []
  for (const each of given) {
    const found = await access.runs.findInput(each.inputId)
    if (found === undefined || !(await mayAnswer(access, found.run, found.input.kind, principal)))
      throw new RUN_ERR_INPUT_NOT_FOUND(each.inputId)
    if (found.input.answer !== null) continue
    await requireAnswer(found.input, each.answer)
    open.push(each)
  }
  const answered: string[] = []
  for (const { inputId, answer } of open) {
    try {
      await access.runs.answer(inputId, answer)
      answered.push(inputId)
    } catch (err) {
      if (!isLateAnswer(err)) throw err
    }
  }
  return answered
}
