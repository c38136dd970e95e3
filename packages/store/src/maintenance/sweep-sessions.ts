import { randomUUID } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import type { Backend } from '../backend.ts'
import type { Commit } from '../commit.ts'
import type { Retention } from '../options.ts'
import { removeInBatches } from './remove-in-batches.ts'
import { NEWEST } from '../rows/session-branches.ts'
import type { Tables } from '../tables.ts'

/** A part of what a session has saved: from one branch up to the next, and up to which message a fork reaches it. */
interface Piece {
  readonly first: number
  readonly end: number
  /** 0 if no fork reaches it. */
  reached: number
}

/** The sessions among these that have forks which are not. */
async function findForked(db: Kysely<Tables>, keys: readonly string[]): Promise<string[]> {
  const rows = db.selectFrom('session_branch').select('parent_key').distinct().where('parent_key', 'in', keys)
  return (await rows.where('session_key', 'not in', keys).execute()).map(({ parent_key }) => parent_key)
}

/** What these sessions are forks of. */
async function findOrigins(db: Kysely<Tables>, keys: readonly string[]): Promise<string[]> {
  const rows = db
    .selectFrom('session_branch')
    .select('parent_key')
    .distinct()
    .where('session_key', 'in', keys)
  return (await rows.where('parent_key', 'not in', keys).execute()).map(({ parent_key }) => parent_key)
}

/**
 * Gives the messages of a session that is removed a key that no session has, and removes those that no fork reaches; returns the number
 * of the others.
 */
async function leaveToForks(db: Kysely<Tables>, sessionKey: string): Promise<number> {
  const left = `left/${randomUUID()}`
  await db
    .updateTable('session_branch')
    .set({ session_key: left })
    .where('session_key', '=', sessionKey)
    .execute()
  await db
    .updateTable('session_branch')
    .set({ parent_key: left })
    .where('parent_key', '=', sessionKey)
    .execute()
  await db
    .updateTable('session_message')
    .set({ session_key: left })
    .where('session_key', '=', sessionKey)
    .execute()
  await prune(db, [left])
  const { count } = await db
    .selectFrom('session_message')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('session_key', '=', left)
    .executeTakeFirstOrThrow()
  return count
}

/** Removes what removed sessions have left and no fork reaches any more; does nothing to sessions that exist. */
async function prune(db: Kysely<Tables>, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const session = db.selectFrom('session').select('session_key').where('session_key', '=', key)
    if ((await session.executeTakeFirst()) !== undefined) continue
    const origins = await findOrigins(db, [key])
    for (const [from, to] of unreachedOf(await findReached(db, key))) {
      const messages = db.deleteFrom('session_message').where('session_key', '=', key)
      await messages.where('seq', '>=', from).where('seq', '<=', to).execute()
      const branches = db.deleteFrom('session_branch').where('session_key', '=', key)
      await branches.where('first_seq', '>=', from).where('first_seq', '<=', to).execute()
    }
    await prune(db, origins)
  }
}

/** The pieces of a session, and how far forks reach them. */
async function findReached(db: Kysely<Tables>, key: string): Promise<Piece[]> {
  const rows = db.selectFrom('session_branch').selectAll().where('session_key', '=', key)
  const branches = await rows.orderBy('first_seq').execute()
  const firsts = [...(branches[0]?.first_seq === 1 ? [] : [1]), ...branches.map(({ first_seq }) => first_seq)]
  const pieces: Piece[] = firsts.map((first, at) => ({
    first,
    end: (firsts[at + 1] ?? NEWEST) - 1,
    reached: 0
  }))
  const parents = new Map(branches.map((branch) => [branch.first_seq, branch]))
  const forks = db.selectFrom('session_branch').select('parent_seq').distinct().where('parent_key', '=', key)
  for (const { parent_seq } of await forks.where('session_key', '!=', key).execute())
    for (let seq = parent_seq; seq > 0;) {
      const piece = pieces.findLast(({ first }) => first <= seq)!
      const isNew = piece.reached === 0
      piece.reached = Math.max(piece.reached, seq)
      const parent = parents.get(piece.first)
      seq = isNew && parent?.parent_key === key ? parent.parent_seq : 0
    }
  return pieces
}

// Ranges of numbers, both ends included.
function unreachedOf(pieces: readonly Piece[]): [from: number, to: number][] {
  const ranges: [number, number][] = []
  for (const { first, end, reached } of pieces) {
    const from = reached === 0 ? first : reached + 1
    const last = ranges.at(-1)
    if (reached === 0 && last !== undefined && last[1] === first - 1) last[1] = end
    else if (from <= end) ranges.push([from, end])
  }
  return ranges
}

// Sessions per transaction, so that other work runs between two.
const BATCH = 100

/** Removes sessions whose last message has expired, in batches; returns how many. */
export async function sweepSessions(
  { db, commit, sources: { aged } }: Pick<Backend, 'db' | 'commit' | 'sources'>,
  { sessionMaxAge }: Pick<Retention, 'sessionMaxAge'>,
  now: number
): Promise<number> {
  if (sessionMaxAge === 0) return 0
  const until = now - sessionMaxAge
  await sweepStates(commit, until)
  const age = sql<number>`${sql.raw(aged)}`
  const oldest = db
    .selectFrom('session')
    .select(['session_key', 'updated_at'])
    .where(age, '<=', until)
    .orderBy(age)
    .limit(BATCH)
  for (let removed = 0; ;) {
    const found = await oldest.execute()
    if (found.length === 0) return removed
    const keys = found.filter((row) => row.updated_at <= until).map((row) => row.session_key)
    const used = found.filter((row) => row.updated_at > until).map((row) => row.session_key)
    if (keys.length > 0) removed += await commit.write((trx) => removeOld(trx, keys, until))
    if (used.length > 0)
      await commit.writeAmongOthers((trx) =>
        trx
          .updateTable('session')
          .set(({ ref }) => ({ checked_at: ref('updated_at') }))
          .where('session_key', 'in', used)
          .execute()
      )
  }
}

// Selected again in the removing transaction: a session in use meanwhile stays.
async function removeOld(trx: Kysely<Tables>, keys: readonly string[], until: number): Promise<number> {
  const old = trx.selectFrom('session').select('session_key').where('session_key', 'in', keys)
  const found = (await old.where('updated_at', '<=', until).execute()).map((row) => row.session_key)
  if (found.length > 0) await removeSessions(trx, found)
  return found.length
}

/**
 * Removes sessions with their messages, the list of their runs, the state of their browsers, and what they are at other services. Messages that
 * forks reach stay for them; returns their number.
 */
export async function removeSessions(db: Kysely<Tables>, keys: readonly string[]): Promise<number> {
  await db.deleteFrom('browser_state').where('session_key', 'in', keys).execute()
  await db.deleteFrom('remote_session').where('session_key', 'in', keys).execute()
  await db.deleteFrom('session_run').where('session_key', 'in', keys).execute()
  await db.deleteFrom('session').where('session_key', 'in', keys).execute()
  const origins = await findOrigins(db, keys)
  let left = 0
  for (const key of await findForked(db, keys)) left += await leaveToForks(db, key)
  await db.deleteFrom('session_branch').where('session_key', 'in', keys).execute()
  await db.deleteFrom('session_message').where('session_key', 'in', keys).execute()
  await prune(db, origins)
  return left
}

// Those of conversations that callers, or other services, keep belong to no session here.
async function sweepStates(commit: Commit, until: number): Promise<void> {
  for (const table of ['browser_state', 'remote_session'] as const)
    await removeInBatches(commit, { table, key: 'session_key', time: 'updated_at', until })
}

// Of one statement.
const MOST_RUNS = 50

/** Removes the turns of members and steps of these runs, and the session if nothing is left that its owner could see. */
export async function removeTurns(
  db: Kysely<Tables>,
  sessionKey: string,
  runIds: readonly string[]
): Promise<void> {
  const turns = new Set<string>()
  const reached = (await findForked(db, [sessionKey])).length > 0 ? await findReached(db, sessionKey) : []
  const isReached = reached.filter((piece) => piece.reached > 0)
  for (let from = 0; from < runIds.length; from += MOST_RUNS) {
    const removed = await db
      .deleteFrom('session_message')
      .where('session_key', '=', sessionKey)
      .where((turn) =>
        turn.or(
          runIds
            .slice(from, from + MOST_RUNS)
            // The path follows after a slash; its next character ends the range.
            .map((runId) => turn.and([turn('turn_id', '>=', `${runId}/`), turn('turn_id', '<', `${runId}0`)]))
        )
      )
      .where(({ and, not }) => and(isReached.map((piece) => not(isIn(piece)))))
      .returning('turn_id')
      .execute()
    for (const { turn_id } of removed) turns.add(turn_id)
  }
  if (turns.size > 0)
    await db
      .updateTable('session')
      .set((session) => ({ turns: session('turns', '-', turns.size) }))
      .where('session_key', '=', sessionKey)
      .execute()
  const messages = db
    .selectFrom('session_message')
    .select('seq')
    .where('session_key', '=', sessionKey)
    .limit(1)
  const left = messages.where(({ and, not }) => and(isReached.map((piece) => not(isIn(piece)))))
  if ((await left.executeTakeFirst()) !== undefined) return
  const empty = db.selectFrom('session').select('session_key').where('session_key', '=', sessionKey)
  if ((await empty.where('listed', '=', 0).executeTakeFirst()) !== undefined)
    await removeSessions(db, [sessionKey])
}

function isIn({ first, reached }: { first: number; reached: number }) {
  return sql<boolean>`(seq between ${first} and ${reached})`
}
