import {
  parseSessionKey,
  RUNNABLE_KINDS,
  type RunnableKey,
  type RunScope,
  type SessionKey,
  type SessionKeyQuery,
  type StoredSession
} from '@svc/contract'
import { sql, type ExpressionBuilder, type Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

// A session has the same columns.
type Expressions = ExpressionBuilder<Tables, 'run'>

/** A condition: the run, or the session, is in a scope. */
export function isIn({ runnables, registry }: RunScope, of: 'kind' | 'r.kind' = 'kind') {
  const column = of as 'kind'
  return (run: Expressions) => {
    const byRegistry = Map.groupBy(runnables, (each) => each.registry)
    const named = Array.from(byRegistry, ([id, all]) =>
      run.and([run('registry', '=', id), isOneOf(run, all, column)])
    )
    if (registry === undefined) return run.or(named)
    const { id, kinds, except } = registry
    const ofRegistry = [run('registry', '=', id)]
    if (RUNNABLE_KINDS.some((kind) => !kinds.includes(kind))) ofRegistry.push(run(column, 'in', kinds))
    if (except.length > 0) ofRegistry.push(run.not(isOneOf(run, except, column)))
    return run.or([...named, run.and(ofRegistry)])
  }
}

function isOneOf(run: Expressions, runnables: readonly Pick<RunnableKey, 'kind' | 'name'>[], column: 'kind') {
  const byKind = Map.groupBy(runnables, ({ kind }) => kind)
  const each = Array.from(byKind, ([kind, all]) => {
    const names = all.map(({ name }) => name)
    return run.and([run(column, '=', kind), run('name', 'in', names)])
  })
  return run.or(each)
}

/** The columns of a new session. */
export function toSessionRow(
  sessionKey: string,
  {
    registry,
    owner,
    kind,
    name,
    sessionId
  }: Pick<StoredSession, 'registry' | 'owner' | 'kind' | 'name' | 'sessionId'>,
  now: number
) {
  return {
    session_key: sessionKey,
    registry,
    owner,
    kind,
    name,
    session_id: sessionId,
    created_at: now,
    updated_at: now
  }
}

/** A condition: the id of a session is this one, or that of one of its steps, as ranges of an index. */
export function isOfSession(column: string, sessionId: string) {
  const id = sql.ref(column)
  // The character after the slash.
  return sql<boolean>`(${id} = ${sessionId} or (${id} >= ${`${sessionId}/`} and ${id} < ${`${sessionId}0`}))`
}

/** The keys of an owner's sessions in a table. */
export async function findSessionKeys(
  db: Kysely<Tables>,
  table: 'session' | 'browser_state' | 'remote_session',
  { owner, sessionId, limit }: SessionKeyQuery
): Promise<SessionKey[]> {
  let query = db.selectFrom(table).select('session_key').distinct().where('owner', '=', owner)
  if (sessionId !== undefined) query = query.where(isOfSession('session_id', sessionId))
  const rows = await query.limit(limit).execute()
  return rows.flatMap(({ session_key }) => parseSessionKey(session_key) ?? [])
}
