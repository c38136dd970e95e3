import { parseSessionKey, type SessionKey, type SessionKeyQuery } from '@svc/contract'
import { sql, type Kysely } from 'kysely'
import type { Tables } from '../tables.ts'

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
