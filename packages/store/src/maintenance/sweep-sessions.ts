import { sql, type Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import type { Retention } from '../options.ts'
import type { Tables } from '../tables.ts'
import { findForked, findOrigins, findReached, leaveToForks, prune } from './shared-messages.ts'

// Sessions per transaction, so that other work runs between two.
const BATCH = 100

/** Removes sessions whose last message has expired, in batches; returns how many. */
export async function sweepSessions(
  db: Kysely<Tables>,
  commit: Commit,
  { sessionMaxAge }: Pick<Retention, 'sessionMaxAge'>,
  now: number
): Promise<number> {
  if (sessionMaxAge === 0) return 0
  await sweepStates(commit, now - sessionMaxAge)
  const old = db
    .selectFrom('session')
    .select('session_key')
    .where('updated_at', '<=', now - sessionMaxAge)
    .orderBy('updated_at')
    .limit(BATCH)
  for (let removed = 0; ;) {
    // Selected in the removing transaction: a session in use meanwhile stays.
    const count = await commit.write(async (trx) => {
      const keys = (await trx.executeQuery(old)).rows.map(({ session_key }) => session_key)
      if (keys.length > 0) await removeSessions(trx, keys)
      return keys.length
    })
    if (count === 0) return removed
    removed += count
  }
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
async function sweepStates(commit: Commit, before: number): Promise<void> {
  await commit.write((trx) => trx.deleteFrom('browser_state').where('updated_at', '<=', before).execute())
  await commit.write((trx) => trx.deleteFrom('remote_session').where('updated_at', '<=', before).execute())
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
