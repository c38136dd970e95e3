import {
  createScopeFilter,
  RUNNABLE_KINDS,
  sessionKeyText,
  type RunnableKey,
  type RunnableKind,
  type SessionKey,
  type SessionPage,
  type SessionQuery,
  type StoredSession
} from '@svc/contract'
import { RUN_ERR_SESSION_EXISTS } from '@svc/contract/errors'
import { formatSessionCursor, parseSessionCursor } from '@svc/contract/stores'
import { sql, type Kysely, type Selectable, type SelectQueryBuilder } from 'kysely'
import type { Tables } from '../tables.ts'
import { parseMetadata } from './run-rows.ts'
import { isIn, toSessionRow } from './session-rows.ts'

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
  'updated_slot',
  'turns',
  'last_ordinal',
  'last_run'
] as const
// Worded like the conditions of two partial indexes: that of the sessions of an owner, and that of those with a runnable. Neither serves
// the other condition, however many sessions the planner expects to find.
const IS_LISTED = sql<boolean>`listed = 1`
const IS_NAMED = sql<boolean>`listed > 0`

// Sessions that a page looks at if no index has what it is filtered by: after that even a short one has a cursor.
const MAX_SCANNED = 2_000
// Runnables whose sessions are found one by one.
const MAX_NAMED = 32

type SessionRow = Pick<Selectable<Tables['session']>, (typeof LISTED)[number]>
type ListedRow = SessionRow & { active: string | null }
type Order = NonNullable<SessionQuery['order']>
type Sessions = SelectQueryBuilder<Tables, 'session', SessionRow>

/** Reads sessions with their active runs. */
function readListed(db: Kysely<Tables>, sessions: Sessions, order: Order = 'desc'): Promise<ListedRow[]> {
  return db
    .selectFrom(sessions.as('page'))
    .select(LISTED)
    .select(({ selectFrom }) =>
      selectFrom('run')
        .select('run_id')
        .whereRef('run.run_id', '=', 'page.last_run')
        .where('run.ended_at', 'is', null)
        .as('active')
    )
    .orderBy('updated_at', order)
    .orderBy('session_key', order)
    .execute()
}

/** A listed session. */
export async function findSession(
  db: Kysely<Tables>,
  sessionKey: string
): Promise<StoredSession | undefined> {
  const found = db.selectFrom('session').select(LISTED).where(IS_LISTED).where('session_key', '=', sessionKey)
  const [row] = await readListed(db, found)
  return row && toStored(row)
}

/** A page of sessions. @throws REG_ERR_BAD_CURSOR */
export async function listSessions(db: Kysely<Tables>, query: SessionQuery): Promise<SessionPage> {
  const { owner, scope, kind, name, sessionId, limit, order = 'desc', cursor } = query
  let all = db.selectFrom('session').select(LISTED).where('owner', '=', owner)
  if (cursor !== undefined) {
    const { at, key } = parseSessionCursor(cursor)
    const isAfter = order === 'asc' ? '>' : '<'
    all = all
      .where('updated_slot', `${isAfter}=`, slotOf(at))
      .where((row) => row(row.refTuple('updated_at', 'session_key'), isAfter, row.tuple(at, key)))
  }
  const named = sessionId === undefined ? runnablesOf(query) : undefined
  if (named !== undefined) return toPage(await readNamed(db, all, named, limit + 1, order), limit)
  all = all.where(IS_LISTED)
  // Few have one id, so that these need no order to be found.
  all =
    sessionId === undefined
      ? inOrder(all.where(hasAny(db, query)), order)
      : all.where('session_id', '=', sessionId)
  let wanted = readFrom(db, all.limit(MAX_SCANNED)).where(isIn(scope) as never)
  if (kind !== undefined) wanted = wanted.where('kind', '=', kind)
  if (name !== undefined) wanted = wanted.where('name', '=', name)
  const page = toPage(await readListed(db, inOrder(wanted, order).limit(limit + 1), order), limit)
  if (page.nextCursor !== null || sessionId !== undefined) return page
  const end = await all
    .clearSelect()
    .select(['session_key as key', 'updated_at as at'])
    .offset(MAX_SCANNED - 1)
    .limit(1)
    .executeTakeFirst()
  return { ...page, nextCursor: end ? formatSessionCursor(end) : null }
}

// The few of one slot are sorted.
function inOrder(sessions: Sessions, order: Order): Sessions {
  return sessions.orderBy('updated_slot', order).orderBy('updated_at', order).orderBy('session_key', order)
}

/** The half minute of a time, as in `updated_slot`. */
function slotOf(time: number): number {
  return Math.floor(time / 2 ** 15)
}

function readFrom(db: Kysely<Tables>, sessions: Sessions): Sessions {
  return db.selectFrom(sessions.as('found')).select(LISTED) as Sessions
}

/** The only runnables whose sessions a list may have; undefined if there may be many. */
function runnablesOf({ scope, kind, name }: SessionQuery): readonly RunnableKey[] | undefined {
  const { runnables, registry } = scope
  const isWanted = (key: RunnableKey) => (kind ?? key.kind) === key.kind && (name ?? key.name) === key.name
  if (registry === undefined || name === undefined) {
    const listed = runnables.filter(isWanted)
    return registry === undefined && listed.length <= MAX_NAMED ? listed : undefined
  }
  const isInScope = createScopeFilter(scope)
  const registries = new Set([registry.id, ...runnables.map((each) => each.registry)])
  return Array.from(registries, (id) => RUNNABLE_KINDS.map((each) => ({ registry: id, kind: each, name })))
    .flat()
    .filter((key) => isWanted(key) && isInScope(key))
}

/** The first sessions of some runnables: those of each are in order in an index. */
async function readNamed(
  db: Kysely<Tables>,
  all: Sessions,
  runnables: readonly RunnableKey[],
  limit: number,
  order: Order
): Promise<ListedRow[]> {
  const [first, ...others] = runnables.map(({ registry, kind, name }) => {
    const own = all.where('registry', '=', registry).where('kind', '=', kind).where('name', '=', name)
    return readFrom(db, inOrder(own.where(IS_NAMED), order).limit(limit))
  })
  if (first === undefined) return []
  const found = others.reduce((some, own) => some.unionAll(own), first)
  return await readListed(db, inOrder(readFrom(db, found), order).limit(limit), order)
}

/**
 * A condition that holds for all sessions or none, told by a few looks at an index: there are any of these kinds. As `exists`, a table that is
 * thought to have many would be read until one is found.
 */
function hasAny(db: Kysely<Tables>, { owner, scope, kind }: SessionQuery) {
  const kinds = new Map<string, Set<RunnableKind>>()
  const add = (registry: string, some: readonly RunnableKind[]) =>
    kinds.set(registry, new Set([...(kinds.get(registry) ?? []), ...some]))
  if (scope.registry !== undefined) add(scope.registry.id, scope.registry.kinds)
  for (const runnable of scope.runnables) add(runnable.registry, [runnable.kind])
  const firsts = Array.from(kinds, ([registry, some]) =>
    Array.from(some)
      .filter((each) => (kind ?? each) === each)
      .map((each) => {
        const own = db.selectFrom('session as any').select('any.session_key').where('any.owner', '=', owner)
        const first = own.where('any.registry', '=', registry).where('any.kind', '=', each).where(IS_NAMED)
        return sql<boolean>`${first.orderBy('any.name').orderBy('any.updated_slot').limit(1)} is not null`
      })
  ).flat()
  return firsts.length === 0 ? sql<boolean>`1 = 0` : sql<boolean>`(${sql.join(firsts, sql` or `)})`
}

function toPage(rows: readonly ListedRow[], limit: number): SessionPage {
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
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
