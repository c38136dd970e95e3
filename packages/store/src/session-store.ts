import { KeyedLock, sessionKeyText, type SessionMessage, type SessionStore } from '@svc/registry'
import type { Kysely } from 'kysely'
import type { GroupCommit } from './group-commit.ts'
import type { Tables } from './tables.ts'

/** Conversations on SQL; their turns are ordered within this process. */
export function createSessionStore(db: Kysely<Tables>, commit: GroupCommit): SessionStore {
  const locks = new KeyedLock()
  return {
    async load(key, maxMessages) {
      const rows = await db
        .selectFrom('session_message')
        .select('message')
        .where('session_key', '=', sessionKeyText(key))
        .orderBy('seq', 'desc')
        .limit(maxMessages)
        .execute()
      return rows.toReversed().map(({ message }) => JSON.parse(message) as SessionMessage)
    },
    append: (key, turnId, messages) =>
      commit.write(async (trx) => {
        const sessionKey = sessionKeyText(key)
        const turn = trx.selectFrom('session_message').where('session_key', '=', sessionKey)
        if (await turn.select('seq').where('turn_id', '=', turnId).limit(1).executeTakeFirst()) return
        const last = await turn.select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst()
        if (messages.length === 0) return
        const rows = messages.map((message, index) => ({
          session_key: sessionKey,
          seq: (last?.seq ?? 0) + 1 + index,
          turn_id: turnId,
          message: JSON.stringify(message)
        }))
        await trx.insertInto('session_message').values(rows).execute()
      }),
    remove: (key) =>
      commit.write(async (trx) => {
        await trx.deleteFrom('session_message').where('session_key', '=', sessionKeyText(key)).execute()
      }),
    lock: (key, signal) => locks.lock(sessionKeyText(key), signal)
  }
}
