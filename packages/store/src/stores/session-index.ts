import { sessionKeyText, type MessagePage, type SessionIndex } from '@svc/contract'
import { formatMessageCursor, parseMessageCursor } from '@svc/contract/stores'
import type { Kysely } from 'kysely'
import { refuse, type Commit } from '../commit.ts'
import type { SkipDamaged } from '../encoding/values.ts'
import { findForks, findLeaf, forkSession, requireTurn } from '../rows/session-branches.ts'
import { findSession, listSessions } from '../rows/session-rows.ts'
import type { Tables } from '../tables.ts'
import type { SessionEntry } from '../runs/run-write.ts'
import { readBranches } from './session-branches.ts'
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
    fork: (key, sessionId, atTurn) =>
      commit.write(async (trx) => {
        const isForked = await forkSession(trx, key, sessionId, atTurn).catch(refuse)
        return isForked ? findSession(trx, sessionKeyText({ ...key, sessionId })) : undefined
      }),
    forks: (key) => findForks(db, sessionKeyText(key)),
    async messages(key, { before: cursor, branch, limit, ...how }): Promise<MessagePage> {
      const sessionKey = sessionKeyText(key)
      const before = cursor === undefined ? undefined : parseMessageCursor(cursor)
      const named = branch === undefined ? undefined : await requireTurn(db, sessionKey, branch)
      const end = named && before === undefined ? await findLeaf(db, sessionKey, named) : undefined
      const from = { end, before, ...how }
      const { messages: found, isCut } = await readMessages(db, sessionKey, limit + 1, from, skipDamaged)
      const page = found.slice(0, limit).toReversed()
      const isFirst = found.length <= limit && !isCut
      return {
        messages: page.map(({ seq, turnId, message }) => ({ seq, turnId, message })),
        branches: await readBranches(db, sessionKey, page, isFirst),
        nextCursor: isFirst ? null : formatMessageCursor(page[0]!.seq)
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
