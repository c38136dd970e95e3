import {
  RUN_ERR_SESSION_NOT_FOUND,
  type Principal,
  type RunnableKind,
  type StoredSession
} from '@svc/contract'
import type { RunEngine } from '@svc/registry'
import { sessionOwnerOf, type Exposed } from '@svc/registry/engine'
import { requireOwnUser, type NamedUser } from './admit-run.ts'

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
