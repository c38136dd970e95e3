import type { MessagePage, SessionIndex } from '@svc/registry'
import { formatMessageCursor, parseMessageCursor, sessionKeyText } from '@svc/registry/store-kit'
import type { Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import type { SkipDamaged } from '../encoding/stored-values.ts'
import { findSession, listSessions } from '../rows/session-rows.ts'
import type { Tables } from '../tables.ts'
import type { SessionEntry } from '../runs/session-entry.ts'
import { readMessages } from './session-messages.ts'

/** The list of sessions, in SQL. */
export function createSessionIndex(
  db: Kysely<Tables>,
  commit: Commit,
  skipDamaged: SkipDamaged,
  entry: SessionEntry
): SessionIndex {
  return {
    enter: (key, runId) => entry.enter(key, runId),
    follow: (key, listener) => entry.follow(key, listener),
    find: (key) => findSession(db, sessionKeyText(key)),
    list: (query) => listSessions(db, query),
    update: (key, { title, metadata }) =>
      commit.write(async (trx) => {
        const sessionKey = sessionKeyText(key)
        const change = {
          updated_at: Date.now(),
          ...(title !== undefined && { title }),
          ...(metadata !== undefined && { metadata: metadata && JSON.stringify(metadata) })
        }
        const row = trx.updateTable('session').set(change).where('session_key', '=', sessionKey)
        await row.where('listed', '=', 1).execute()
        return findSession(trx, sessionKey)
      }),
    async messages(key, { limit, before }): Promise<MessagePage> {
      const sessionKey = sessionKeyText(key)
      const end = before === undefined ? undefined : parseMessageCursor(before)
      const messages = await readMessages(db, sessionKey, limit + 1, end, skipDamaged)
      const page = messages.slice(0, limit).toReversed()
      return {
        messages: page,
        nextCursor: messages.length > limit ? formatMessageCursor(page[0]!.seq) : null
      }
    },
    async runs(key, after, limit) {
      const rows = await db
        .selectFrom('session_run')
        .select(['ordinal', 'run_id'])
        .where('session_key', '=', sessionKeyText(key))
        .where('ordinal', '>', after)
        .orderBy('ordinal')
        .limit(limit)
        .execute()
      return rows.map(({ ordinal, run_id: runId }) => ({ ordinal, runId }))
    }
  }
}
