import type { SessionMessage, SessionStore } from '@svc/registry'
import { createPause } from '@svc/registry/kit'
import { sessionKeyText, type SessionLocks } from '@svc/registry/store-kit'
import { sql, type Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import { parseStored, type SkipDamaged } from '../encoding/stored-values.ts'
import { removeSessions } from '../maintenance/sweep-sessions.ts'
import { requireEpoch } from '../rows/require-epoch.ts'
import type { Tables } from '../tables.ts'

// Larger messages, in bytes, are read one by one.
const MAX_PAGED = 65_536

/** Conversations, in SQL; their turns are ordered within this process. */
export function createSessionStore(
  db: Kysely<Tables>,
  commit: Commit,
  skipDamaged: SkipDamaged,
  sweep: SessionStore['sweep'],
  locks: SessionLocks
): SessionStore {
  const readLarge = async (sessionKey: string, seq: number) => {
    const row = db.selectFrom('session_message').select('message').where('session_key', '=', sessionKey)
    return (await row.where('seq', '=', seq).executeTakeFirst())?.message
  }
  return {
    async load(key, maxMessages) {
      const sessionKey = sessionKeyText(key)
      const rows = await db
        .selectFrom('session_message')
        .select('seq')
        .select(
          sql<string | null>`case when octet_length(message) <= ${MAX_PAGED} then message end`.as('short')
        )
        .where('session_key', '=', sessionKey)
        .orderBy('seq', 'desc')
        .limit(maxMessages)
        .execute()
      const pause = createPause()
      const messages: SessionMessage[] = []
      for (const { seq, short } of rows) {
        const json = short ?? (await readLarge(sessionKey, seq))
        // The session was removed meanwhile.
        if (json === undefined) break
        const message = parseStored<SessionMessage>(json)
        if (message !== undefined) messages.push(message)
        else skipDamaged('session_message', `${sessionKey} ${seq}`)
        // The messages before it may be half of an exchange.
        if (message === undefined) break
        if (short === null) await pause()
      }
      return messages.toReversed()
    },
    append: (key, turnId, messages, fence) =>
      commit.write(async (trx) => {
        await requireEpoch(trx, fence, commit.isShared)
        const sessionKey = sessionKeyText(key)
        const turn = trx.selectFrom('session_message').where('session_key', '=', sessionKey)
        if (await turn.select('seq').where('turn_id', '=', turnId).limit(1).executeTakeFirst()) return
        if (messages.length === 0) return
        const first = (await lengthen(trx, sessionKey, messages.length)) - messages.length + 1
        const rows = messages.map((message, index) => ({
          session_key: sessionKey,
          seq: first + index,
          turn_id: turnId,
          message: JSON.stringify(message)
        }))
        await trx.insertInto('session_message').values(rows).execute()
      }),
    remove: (key) => commit.write((trx) => removeSessions(trx, [sessionKeyText(key)])),
    sweep,
    lock: (key, signal, holder) => locks.lock(sessionKeyText(key), signal, holder)
  }
}

// Reserves numbers for messages and returns the last one.
async function lengthen(db: Kysely<Tables>, sessionKey: string, count: number): Promise<number> {
  const { last_seq } = await db
    .insertInto('session')
    .values({ session_key: sessionKey, last_seq: count, updated_at: Date.now() })
    .onConflict((conflict) =>
      conflict.column('session_key').doUpdateSet((set) => ({
        last_seq: set('session.last_seq', '+', set.ref('excluded.last_seq')),
        updated_at: set.ref('excluded.updated_at')
      }))
    )
    .returning('last_seq')
    .executeTakeFirstOrThrow()
  return last_seq
}
