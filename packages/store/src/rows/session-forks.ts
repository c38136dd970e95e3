import { parseSessionKey, RUN_ERR_SESSION_EXISTS, sessionKeyText, type SessionKey } from '@svc/contract'
import type { Kysely, Selectable } from 'kysely'
import type { Tables } from '../tables.ts'
import { findBase, findNewest, findStretches, requireTurn, type Place } from './session-branches.ts'
import { findPlace } from './session-place.ts'
import { toSessionRow } from './session-rows.ts'

type SessionRow = Selectable<Tables['session']>

// Stretches per statement.
const BATCH = 100

/** As `SessionIndex.fork`; true if there was a session to fork. @throws RUN_ERR_NO_TURN, RUN_ERR_SESSION_EXISTS */
export async function forkSession(
  db: Kysely<Tables>,
  key: SessionKey,
  sessionId: string,
  atTurn: string | undefined
): Promise<boolean> {
  const sessionKey = sessionKeyText(key)
  const rows = db.selectFrom('session').selectAll().where('session_key', '=', sessionKey)
  const session = await rows.where('listed', '=', 1).executeTakeFirst()
  if (session === undefined) return false
  if (await exists(db, sessionKeyText({ ...key, sessionId }))) throw new RUN_ERR_SESSION_EXISTS(sessionId)
  const place = await (atTurn === undefined ? findLast(db, sessionKey) : requireTurn(db, sessionKey, atTurn))
  if (key.kind === 'team') await forkMembers(db, key, sessionId, atTurn)
  await insertFork(db, session, sessionId, place)
  return true
}

async function forkMembers(
  db: Kysely<Tables>,
  along: SessionKey,
  sessionId: string,
  atTurn: string | undefined
): Promise<void> {
  const { owner, registry } = along
  const same = db.selectFrom('session').selectAll().where('owner', '=', owner)
  const own = same.where('session_id', '=', along.sessionId).where('registry', '=', registry)
  for (const member of await own.where('session_key', '!=', sessionKeyText(along)).execute()) {
    const from = { runId: '', after: atTurn, along }
    const place = (await findPlace(db, member.session_key, from)) ?? (await findLast(db, member.session_key))
    const key = parseSessionKey(member.session_key)!
    if (place.seq === 0 || (await exists(db, sessionKeyText({ ...key, sessionId })))) continue
    await insertFork(db, { ...member, title: null, metadata: null, listed: 0 }, sessionId, place)
  }
}

async function insertFork(
  db: Kysely<Tables>,
  session: SessionRow,
  sessionId: string,
  { key, seq }: Place
): Promise<void> {
  const { registry, owner, kind, name, title, metadata, listed } = session
  const own: SessionKey = { registry, owner, kind, name, sessionId }
  const sessionKey = sessionKeyText(own)
  const turns = await countTurns(db, { key, seq })
  // The number after the last shared message stands for the place of the fork.
  const first = seq === 0 ? 0 : seq + 1
  const row = { ...toSessionRow(sessionKey, own, Date.now()), title, metadata, listed, turns }
  await db
    .insertInto('session')
    .values({ ...row, last_seq: first, last_ordinal: 0 })
    .execute()
  if (seq === 0) return
  const branch = { session_key: sessionKey, first_seq: first, parent_key: key, parent_seq: seq }
  await db.insertInto('session_branch').values(branch).execute()
}

// The newest message: of the session that it is a fork of if it has none of its own.
async function findLast(db: Kysely<Tables>, sessionKey: string): Promise<Place> {
  const newest = await findNewest(db, sessionKey)
  const base = await findBase(db, sessionKey)
  return base?.first_seq === newest.seq ? { key: base.parent_key, seq: base.parent_seq } : newest
}

async function countTurns(db: Kysely<Tables>, end: Place): Promise<number> {
  const { stretches } = await findStretches(db, end)
  let turns = 0
  for (let at = 0; at < stretches.length; at += BATCH) {
    const { count } = await db
      .selectFrom('session_message')
      .select((select) => select.fn.count<number>('turn_id').distinct().as('count'))
      .where(({ eb, or, and }) =>
        or(
          stretches
            .slice(at, at + BATCH)
            .map(({ key, from, to }) =>
              and([eb('session_key', '=', key), eb('seq', '>=', from), eb('seq', '<=', to)])
            )
        )
      )
      .executeTakeFirstOrThrow()
    turns += count
  }
  return turns
}

async function exists(db: Kysely<Tables>, sessionKey: string): Promise<boolean> {
  const row = db.selectFrom('session').select('session_key').where('session_key', '=', sessionKey)
  return (await row.executeTakeFirst()) !== undefined
}

/** As `SessionIndex.forks`. */
export async function findForks(db: Kysely<Tables>, sessionKey: string): Promise<SessionKey[]> {
  const found = new Set<string>()
  for (let parents = [sessionKey]; parents.length > 0;) {
    const rows = await db
      .selectFrom('session_branch')
      .select('session_key')
      .distinct()
      .where('parent_key', 'in', parents)
      .execute()
    parents = rows
      .map(({ session_key }) => session_key)
      .filter((key) => key !== sessionKey && !found.has(key))
    for (const key of parents) found.add(key)
  }
  // What a removed fork has left for its own forks has no key.
  return [...found].flatMap((key) => parseSessionKey(key) ?? [])
}
