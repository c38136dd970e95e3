import type { Kysely } from 'kysely'
import type { GroupCommit } from '../group-commit.ts'
import type { Retention } from '../options.ts'
import type { Tables } from '../tables.ts'

// Sessions per transaction, so that other work runs between two.
const BATCH = 100

/** Removes sessions whose last message has expired, in batches; returns how many. */
export async function sweepSessions(
  db: Kysely<Tables>,
  commit: GroupCommit,
  { sessionMaxAge }: Pick<Retention, 'sessionMaxAge'>,
  now: number
): Promise<number> {
  if (sessionMaxAge === 0) return 0
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

/** Removes sessions with their messages. */
export async function removeSessions(db: Kysely<Tables>, keys: readonly string[]): Promise<void> {
  await db.deleteFrom('session_message').where('session_key', 'in', keys).execute()
  await db.deleteFrom('session').where('session_key', 'in', keys).execute()
}
