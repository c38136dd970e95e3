import { sessionKeyText, type BrowserState, type BrowserStateStore } from '@svc/contract'
import type { Kysely } from 'kysely'
import { decrypt, encrypt } from '../encoding/encrypted.ts'
import { parseStored, type SkipDamaged } from '../encoding/stored-values.ts'
import type { Commit } from '../commit.ts'
import { findSessionKeys } from '../rows/of-session.ts'
import { requireEpoch } from '../rows/require-epoch.ts'
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
      commit.write(async (trx) => {
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
      commit.write(async (trx) => {
        await trx.deleteFrom('browser_state').where('session_key', '=', sessionKeyText(session)).execute()
      }),
    keys: (query) => findSessionKeys(db, 'browser_state', query)
  }
}
