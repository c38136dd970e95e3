import { isTerminalStatus, RUN_ERR_SESSION_NOT_FOUND, type Principal, type RunSummary } from '@svc/contract'
import type { RunEngine } from '@svc/registry'
import type { RunAccess } from './require-run.ts'
import { requireSession, type SessionAccess, type SessionReference } from './require-session.ts'

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
 * @throws ForeignUser of the surface, RUN_ERR_STORE
 */
export async function findActiveRun(
  access: ConversationAccess,
  reference: SessionReference,
  principal: Principal
): Promise<RunSummary | undefined> {
  const active = await activeRunOf(access, reference, principal)
  return active ?? findAccepted(access, reference, principal)
}

async function activeRunOf(
  access: ConversationAccess,
  reference: SessionReference,
  principal: Principal
): Promise<RunSummary | undefined> {
  try {
    const { activeRun } = await requireSession(access, reference, principal)
    const run = activeRun === null ? undefined : await access.runs.find(activeRun)
    return run !== undefined && !isTerminalStatus(run.status) ? run : undefined
  } catch (err) {
    if (err instanceof RUN_ERR_SESSION_NOT_FOUND) return undefined
    throw err
  }
}

// A run enters its session when it has its turn; until then only its record names the session.
async function findAccepted(
  access: ConversationAccess,
  reference: SessionReference,
  principal: Principal
): Promise<RunSummary | undefined> {
  const runs = await runsOfConversation(access, reference, principal, LOOKED_AT)
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
