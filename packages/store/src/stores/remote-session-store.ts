import { sessionKeyText, type RemoteSessionStore } from '@svc/contract'
import type { Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import { findSessionKeys } from '../rows/of-session.ts'
import { requireEpoch } from '../rows/require-epoch.ts'
import type { Tables } from '../tables.ts'

/** Conversations of other services, in SQL. */
export function createRemoteSessionStore(db: Kysely<Tables>, commit: Commit): RemoteSessionStore {
  return {
    async load(key, remote) {
      const row = await db
        .selectFrom('remote_session')
        .select(['context_id', 'task_id'])
        .where('session_key', '=', sessionKeyText(key))
        .where('remote', '=', remote)
        .executeTakeFirst()
      if (row === undefined) return undefined
      const { context_id: contextId, task_id: taskId } = row
      return { contextId, ...(taskId !== null && { taskId }) }
    },
    save: (key, remote, { contextId, taskId = null }, fence) =>
      commit.write(async (trx) => {
        await requireEpoch(trx, fence, commit.isShared)
        const { owner, sessionId } = key
        const row = { context_id: contextId, task_id: taskId, updated_at: Date.now() }
        await trx
          .insertInto('remote_session')
          .values({ session_key: sessionKeyText(key), owner, session_id: sessionId, remote, ...row })
          .onConflict((conflict) => conflict.columns(['session_key', 'remote']).doUpdateSet(row))
          .execute()
      }),
    remove: (key, remote) =>
      commit.write(async (trx) => {
        const all = trx.deleteFrom('remote_session').where('session_key', '=', sessionKeyText(key))
        await (remote === undefined ? all : all.where('remote', '=', remote)).execute()
      }),
    keys: (query) => findSessionKeys(db, 'remote_session', query)
  }
}
