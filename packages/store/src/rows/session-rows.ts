import {
  parseSessionKey,
  RUNNABLE_KINDS,
  sessionKeyText,
  type RunnableKey,
  type RunScope,
  type SessionKey,
  type SessionKeyQuery,
  type SessionPage,
  type SessionQuery,
  type StoredSession
} from '@svc/contract'
import { RUN_ERR_SESSION_EXISTS } from '@svc/contract/errors'
import { formatSessionCursor, parseSessionCursor } from '@svc/contract/stores'
import { sql, type ExpressionBuilder, type Kysely, type Selectable } from 'kysely'
import type { Tables } from '../tables.ts'
import { parseMetadata } from './run-rows.ts'

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

const LISTED = [
  'session_key',
  'registry',
  'owner',
  'kind',
  'name',
  'session_id',
  'title',
  'metadata',
  'created_at',
  'updated_at',
  'turns',
  'last_ordinal',
  'last_run'
] as const
// Worded like the condition of a partial index, so that SQLite uses it.
const IS_LISTED = sql<boolean>`listed = 1`

// Sessions that a page looks at: after that even a short one has a cursor.
const MAX_SCANNED = 20_000

type ListedRow = Pick<Selectable<Tables['session']>, (typeof LISTED)[number]> & { active: string | null }

/** Selects listed sessions with their active runs. */
function selectListed(db: Kysely<Tables>) {
  return db
    .selectFrom('session')
    .select(LISTED)
    .select(({ selectFrom }) =>
      selectFrom('run')
        .select('run_id')
        .whereRef('run.run_id', '=', 'session.last_run')
        .where('run.ended_at', 'is', null)
        .as('active')
    )
    .where(IS_LISTED)
}

/** A listed session. */
export async function findSession(
  db: Kysely<Tables>,
  sessionKey: string
): Promise<StoredSession | undefined> {
  const row = await selectListed(db).where('session_key', '=', sessionKey).executeTakeFirst()
  return row && toStored(row)
}

/** A page of sessions, last changed first. @throws REG_ERR_BAD_CURSOR */
export async function listSessions(
  db: Kysely<Tables>,
  { owner, scope, kind, name, sessionId, limit, cursor }: SessionQuery
): Promise<SessionPage> {
  let all = db.selectFrom('session').where(IS_LISTED)
  if (sessionId === undefined) all = all.where('owner', '=', owner)
  else {
    // Few have one id. With the owner as a condition of its own, the index of the list would be read to its end.
    const named = db.selectFrom('session').select('session_key').where('owner', '=', owner)
    all = all.where('session_key', 'in', named.where('session_id', '=', sessionId))
  }
  if (cursor !== undefined) {
    const { at, key } = parseSessionCursor(cursor)
    all = all.where((row) => row(row.refTuple('updated_at', 'session_key'), '<', row.tuple(at, key)))
  }
  const inOrder = all.orderBy('updated_at', 'desc').orderBy('session_key', 'desc')
  // An index covers these columns.
  const scanned = inOrder.select(['session_key', 'updated_at', 'registry', 'kind', 'name']).limit(MAX_SCANNED)
  let wanted = db.selectFrom(scanned.as('found')).where(isIn(scope) as never)
  if (kind !== undefined) wanted = wanted.where('kind', '=', kind)
  if (name !== undefined) wanted = wanted.where('name', '=', name)
  const rows = await selectListed(db)
    .innerJoin(
      wanted
        .select('session_key as key')
        .orderBy('updated_at', 'desc')
        .orderBy('session_key', 'desc')
        .limit(limit + 1)
        .as('page'),
      'page.key',
      'session.session_key'
    )
    .orderBy('updated_at', 'desc')
    .orderBy('session_key', 'desc')
    .execute()
  const page = rows.slice(0, limit)
  const [last] =
    rows.length > limit
      ? page.slice(-1)
      : await inOrder
          .select(['session_key', 'updated_at'])
          .offset(MAX_SCANNED - 1)
          .limit(1)
          .execute()
  return {
    sessions: page.map(toStored),
    nextCursor: last ? formatSessionCursor({ at: last.updated_at, key: last.session_key }) : null
  }
}

function toStored(row: ListedRow): StoredSession {
  return {
    registry: row.registry,
    owner: row.owner,
    kind: row.kind,
    name: row.name,
    sessionId: row.session_id,
    title: row.title,
    metadata: parseMetadata(row.metadata),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    turns: row.turns,
    lastOrdinal: row.last_ordinal,
    activeRun: row.active
  }
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

/** Begins a listed session. @throws RUN_ERR_SESSION_EXISTS */
export async function createSession(
  db: Kysely<Tables>,
  key: SessionKey,
  change: Partial<Pick<Selectable<Tables['session']>, 'title' | 'metadata' | 'settings'>>
): Promise<StoredSession> {
  const sessionKey = sessionKeyText(key)
  const row = { ...toSessionRow(sessionKey, key, Date.now()), ...change, listed: 1 }
  const inserted = await db
    .insertInto('session')
    .values({ ...row, turns: 0, last_seq: 0, last_ordinal: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .returning('session_key')
    .executeTakeFirst()
  if (inserted === undefined) throw new RUN_ERR_SESSION_EXISTS(key.sessionId)
  return (await findSession(db, sessionKey))!
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
