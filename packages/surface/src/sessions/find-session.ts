import {
  randomId,
  type Principal,
  type Runnable,
  type SessionSettings,
  type StoredSession
} from '@svc/contract'
import { RUN_ERR_SESSION_AMBIGUOUS, RUN_ERR_SESSION_NOT_FOUND } from '@svc/contract/errors'
import { MAX_SETTINGS, type Exposed } from '@svc/registry/engine'
import { ownerOfSessions, type SessionAccess } from '../access/require-owned.ts'

/** What a session begins with. */
type SessionFields = NonNullable<Parameters<SessionAccess['runs']['sessions']['create']>[1]>

/**
 * Finds a session of the caller by its id alone, for wires whose clients do not name the runnable; any other session counts as missing.
 * @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_SESSION_AMBIGUOUS, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
 */
export async function findSession(
  access: SessionAccess,
  sessionId: string,
  principal: Principal
): Promise<StoredSession> {
  const { runs, exposed } = access
  const owner = ownerOfSessions(access, principal, undefined)
  const { sessions } = await runs.sessions.list({ owner, scope: exposed.scope(), sessionId, limit: 2 })
  const [session, other] = sessions
  if (session === undefined) throw new RUN_ERR_SESSION_NOT_FOUND(sessionId)
  if (other !== undefined) throw new RUN_ERR_SESSION_AMBIGUOUS(sessionId)
  return session
}

/**
 * Refuses settings that are too large for a session to keep.
 * @param what of the request they are made of
 */
export function requireKept(
  settings: SessionSettings,
  what: string,
  Refused: new (fault: string) => Error
): void {
  const bytes = Buffer.byteLength(JSON.stringify(settings))
  if (bytes > MAX_SETTINGS)
    throw new Refused(
      `${what}: a session keeps at most 65,536 bytes of JSON of them together, and these have ${bytes}`
    )
}

/**
 * Begins a session of the caller, before its first run.
 * @param prefix of its id, which ends with `suffix`
 * @throws RUN_ERR_SESSION_EXISTS, RUN_ERR_BAD_SESSION, RUN_ERR_SESSIONS_NOT_KEPT, RUN_ERR_STORE
 */
export async function beginSession(
  access: SessionAccess & { readonly exposed: Pick<Exposed, 'startOptions'> },
  runnable: Runnable,
  prefix: string,
  fields: SessionFields,
  principal: Principal,
  suffix: string = randomId()
): Promise<StoredSession> {
  const { runs, exposed } = access
  const { kind, name } = runnable
  const { registry } = exposed.startOptions(runnable)
  const owner = ownerOfSessions(access, principal, undefined)
  return runs.sessions.create({ registry, owner, kind, name, sessionId: prefix + suffix }, fields)
}
