import {
  sessionKeyText,
  type BrowserState,
  type BrowserStateStore,
  type CheckpointStore,
  type RemoteSessionStore
} from '@svc/contract'
import { sql, type Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import { decrypt, encrypt, parseStored, type SkipDamaged } from '../encoding/values.ts'
import { requireEpoch } from '../rows/run-rows.ts'
import { findSessionKeys } from '../rows/session-rows.ts'
import type { Tables } from '../tables.ts'

/** What browsers know in sessions, in SQL and encrypted. A state of another key counts as damaged. */
export function createBrowserStateStore(
  db: Kysely<Tables>,
  commit: Commit,
  key: Uint8Array,
  skipDamaged: SkipDamaged
): BrowserStateStore {
  return {
    async load(session) {
      const sessionKey = sessionKeyText(session)
      const row = await db
        .selectFrom('browser_state')
        .select('state')
        .where('session_key', '=', sessionKey)
        .executeTakeFirst()
      if (row === undefined) return undefined
      const json = decrypt(row.state, key, sessionKey)
      const state = json === undefined ? undefined : parseStored<BrowserState>(json)
      if (state === undefined) skipDamaged('browser_state', sessionKey)
      return state
    },
    save: (session, state, fence) =>
      commit.writeAmongOthers(async (trx) => {
        await requireEpoch(trx, fence, commit.isShared)
        const sessionKey = sessionKeyText(session)
        const { owner, sessionId } = session
        const row = { state: encrypt(JSON.stringify(state), key, sessionKey), updated_at: Date.now() }
        await trx
          .insertInto('browser_state')
          .values({ session_key: sessionKey, owner, session_id: sessionId, ...row })
          .onConflict((conflict) => conflict.column('session_key').doUpdateSet(row))
          .execute()
      }),
    remove: (session) =>
      commit.writeAmongOthers(async (trx) => {
        await trx.deleteFrom('browser_state').where('session_key', '=', sessionKeyText(session)).execute()
      }),
    keys: (query) => findSessionKeys(db, 'browser_state', query)
  }
}

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
      commit.writeAmongOthers(async (trx) => {
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
      commit.writeAmongOthers(async (trx) => {
        const all = trx.deleteFrom('remote_session').where('session_key', '=', sessionKeyText(key))
        await (remote === undefined ? all : all.where('remote', '=', remote)).execute()
      }),
    keys: (query) => findSessionKeys(db, 'remote_session', query)
  }
}

/** Reads checkpoints of resumable runs, in SQL. */
export function createCheckpointStore(
  db: Kysely<Tables>,
  skipDamaged: SkipDamaged
): Omit<CheckpointStore, 'save' | 'remove'> {
  return {
    async size(runId) {
      const row = await db
        .selectFrom('checkpoint')
        .select(sql<number>`octet_length(state)`.as('bytes'))
        .where('run_id', '=', runId)
        .executeTakeFirst()
      return row?.bytes
    },
    async load(runId) {
      const row = await find(db, runId)
      if (row === undefined) return undefined
      const state = parseStored<unknown>(row.state)
      if (state === undefined) return skipDamaged('checkpoint', runId)
      return { epoch: row.epoch, state }
    }
  }
}

function find(db: Kysely<Tables>, runId: string) {
  return db.selectFrom('checkpoint').selectAll().where('run_id', '=', runId).executeTakeFirst()
}
