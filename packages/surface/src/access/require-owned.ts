import {
  grantsScope,
  reachesOwner,
  type Authorize,
  type FoundInput,
  type InputKind,
  type InputRun,
  type Principal,
  type RunnableKind,
  type RunSummary,
  type StoredSession
} from '@svc/contract'
import { RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_NOT_FOUND, RUN_ERR_SESSION_NOT_FOUND } from '@svc/contract/errors'
import type { RunEngine } from '@svc/registry'
import { sessionOwnerOf, type Exposed } from '@svc/registry/engine'
import { requireOwnUser, type NamedUser } from './admit-run.ts'

/** The parts of a surface that decide who reaches a run. */
export interface RunAccess {
  readonly runs: Pick<RunEngine, 'find' | 'findInput'>
  readonly exposed: Pick<Exposed, 'shows'>
  readonly policy: { readonly authorize: Authorize }
}

/**
 * Finds a run that the caller reaches and that belongs to the surface; any other run counts as missing.
 * @throws RUN_ERR_NOT_FOUND
 */
export async function requireRun(
  access: RunAccess,
  runId: string,
  principal: Principal
): Promise<RunSummary> {
  const run = await access.runs.find(runId)
  if (run === undefined || !reachesOwner(principal, run.owner) || !access.exposed.shows(run))
    throw new RUN_ERR_NOT_FOUND(runId)
  return run
}

/** The parts of a surface that decide who reaches a session. */
export interface SessionAccess extends NamedUser {
  readonly runs: Pick<RunEngine, 'sessions'>
  readonly exposed: Pick<Exposed, 'scope' | 'hasUsers'>
}

/** A session as its owner names it. */
export interface SessionReference {
  readonly kind: RunnableKind
  readonly name: string
  readonly sessionId: string
  /** Of a caller without credentials. */
  readonly userId?: string | undefined
}

/** Whose sessions a caller reaches. @param userId that it names @throws ForeignUser of the surface */
export function ownerOfSessions(access: NamedUser, principal: Principal, userId: string | undefined): string {
  requireOwnUser(access, principal, userId)
  return sessionOwnerOf({ principal, ...(userId !== undefined && { userId }) })
}

/**
 * Finds a session of the caller that belongs to the surface; any other session counts as missing.
 * @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_SESSIONS_NOT_KEPT, ForeignUser of the surface
 */
export async function requireSession(
  access: SessionAccess,
  { kind, name, sessionId, userId }: SessionReference,
  principal: Principal
): Promise<StoredSession> {
  const { runs, exposed } = access
  const owner = ownerOfSessions(access, principal, userId)
  const query = { owner, scope: exposed.scope(), kind, name, sessionId, limit: 1 }
  const { sessions } = await runs.sessions.list(query)
  const [session] = sessions
  if (session === undefined) throw new RUN_ERR_SESSION_NOT_FOUND(sessionId)
  return session
}

/** The kinds of each list of inputs. */
export const LISTED_KINDS = {
  approvals: ['approval'],
  inputs: ['question', 'tool', 'auth']
} as const satisfies Record<string, readonly InputKind[]>

/** A list of inputs: `/approvals` and `/inputs`. */
export type InputList = keyof typeof LISTED_KINDS

/** True if the caller sees inputs of all owners in a list: every approval, or every question. */
export function seesAllOf(list: InputList, { scopes }: Principal): boolean {
  return grantsScope(scopes, `${list}:answer`)
}

/** True if the caller may see and answer inputs of a kind of a run: client tools and credentials are up to its owner. */
export async function mayAnswer(
  { exposed, policy }: Pick<RunAccess, 'exposed' | 'policy'>,
  run: InputRun,
  inputKind: InputKind,
  principal: Principal
): Promise<boolean> {
  const { kind, name, owner } = run
  if (!exposed.shows(run)) return false
  const isForAll =
    (inputKind === 'approval' && seesAllOf('approvals', principal)) ||
    (inputKind === 'question' && seesAllOf('inputs', principal))
  if (!isForAll && !reachesOwner(principal, owner)) return false
  return (await policy.authorize(principal, 'answer', { kind, name, owner })).allowed
}

/**
 * Finds an input of a list that the caller may answer; any other counts as missing.
 * @throws RUN_ERR_INPUT_NOT_FOUND
 */
export async function requireAnswerable(
  access: RunAccess,
  list: InputList,
  inputId: string,
  principal: Principal
): Promise<FoundInput> {
  const found = await access.runs.findInput(inputId)
  const kinds: readonly InputKind[] = LISTED_KINDS[list]
  if (
    found !== undefined &&
    kinds.includes(found.input.kind) &&
    (await mayAnswer(access, found.run, found.input.kind, principal))
  )
    return found
  throw new RUN_ERR_INPUT_NOT_FOUND(inputId)
}
