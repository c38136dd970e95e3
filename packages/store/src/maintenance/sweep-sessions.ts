import type { Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import type { Retention } from '../options.ts'
import type { Tables } from '../tables.ts'

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

/** Removes sessions with their messages, the list of their runs, the state of their browsers, and what they are at other services. */
export async function removeSessions(db: Kysely<Tables>, keys: readonly string[]): Promise<void> {
  await db.deleteFrom('browser_state').where('session_key', 'in', keys).execute()
  await db.deleteFrom('remote_session').where('session_key', 'in', keys).execute()
  await db.deleteFrom('session_run').where('session_key', 'in', keys).execute()
  await db.deleteFrom('session_message').where('session_key', 'in', keys).execute()
  await db.deleteFrom('session').where('session_key', 'in', keys).execute()
}

// Those of conversations that callers, or other services, keep belong to no session here.
async function sweepStates(commit: Commit, before: number): Promise<void> {
  await commit.write((trx) => trx.deleteFrom('browser_state').where('updated_at', '<=', before).execute())
  await commit.write((trx) => trx.deleteFrom('remote_session').where('updated_at', '<=', before).execute())
}
