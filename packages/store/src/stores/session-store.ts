import { sessionKeyText, type SessionKey, type SessionMessage, type SessionStore } from '@svc/contract'
import { isOwnTurn, titleOf, type SessionLocks } from '@svc/contract/stores'
import { sql, type Kysely } from 'kysely'
import { refuse, type Commit } from '../commit.ts'
import type { SkipDamaged } from '../encoding/values.ts'
import { removeSessions, removeTurns } from '../maintenance/sweep-sessions.ts'
import { findSessionKeys, toSessionRow } from '../rows/session-rows.ts'
import { requireEpoch } from '../rows/run-rows.ts'
import { findPlace, hasTurn, type Place } from '../rows/session-branches.ts'
import type { SessionEntry } from '../runs/run-write.ts'
import type { Tables } from '../tables.ts'
import { readMessages } from './session-messages.ts'

/** Conversations, in SQL; their turns are ordered within this process. */
export function createSessionStore(
  db: Kysely<Tables>,
  commit: Commit,
  skipDamaged: SkipDamaged,
  sweep: SessionStore['sweep'],
  locks: SessionLocks,
  entry: Pick<SessionEntry, 'removed'>
): SessionStore {
  return {
    async load(key, maxMessages, from) {
      const sessionKey = sessionKeyText(key)
      const end = from && (await findPlace(db, sessionKey, from))
      const { messages: stored } = await readMessages(db, sessionKey, maxMessages, { end }, skipDamaged)
      const messages: SessionMessage[] = []
      for (const { message } of stored) {
        // The messages before a damaged one may be half of an exchange.
        if (message === null) break
        messages.push(message)
      }
      return messages.toReversed()
    },
    append: (key, turnId, messages, fence, from) =>
      commit.write(async (trx) => {
        await requireEpoch(trx, fence, commit.isShared)
        const sessionKey = sessionKeyText(key)
        const turn = trx.selectFrom('session_message').where('session_key', '=', sessionKey)
        if (await turn.select('seq').where('turn_id', '=', turnId).limit(1).executeTakeFirst()) return
        if (messages.length === 0) return
        const place = from && (await findPlace(trx, sessionKey, from).catch(refuse))
        const first = (await lengthen(trx, key, turnId, messages)) - messages.length + 1
        if (place !== undefined && (place.key !== sessionKey || place.seq !== first - 1))
          await beginBranch(trx, sessionKey, first, place)
        const rows = messages.map((message, index) => ({
          session_key: sessionKey,
          seq: first + index,
          turn_id: turnId,
          message: JSON.stringify(message)
        }))
        await trx.insertInto('session_message').values(rows).execute()
      }),
    hasTurn: (key, runId) => hasTurn(db, sessionKeyText(key), runId),
    async remove(key) {
      const sessionKey = sessionKeyText(key)
      const left = await commit.write((trx) => removeSessions(trx, [sessionKey]))
      entry.removed(sessionKey)
      return left
    },
    removeTurns: (key, runIds) => commit.write((trx) => removeTurns(trx, sessionKeyText(key), runIds)),
    keys: (query) => findSessionKeys(db, 'session', query),
    sweep,
    lock: (key, signal, holder, onPlace) => locks.lock(sessionKeyText(key), signal, holder, onPlace),
    place: (key, runId, ifFree) => locks.place(sessionKeyText(key), runId, ifFree)
  }
}

async function beginBranch(
  db: Kysely<Tables>,
  sessionKey: string,
  first: number,
  { key, seq }: Place
): Promise<void> {
  const branch = { session_key: sessionKey, first_seq: first, parent_key: key, parent_seq: seq }
  await db.insertInto('session_branch').values(branch).execute()
}

// Counts the turn, reserves numbers for its messages and returns the last one.
async function lengthen(
  db: Kysely<Tables>,
  key: SessionKey,
  turnId: string,
  messages: readonly SessionMessage[]
): Promise<number> {
  const row = toSessionRow(sessionKeyText(key), key, Date.now())
  const listed = isOwnTurn(turnId) ? 1 : 0
  const { last_seq } = await db
    .insertInto('session')
    .values({
      ...row,
      title: titleOf(messages),
      turns: 1,
      last_seq: messages.length,
      last_ordinal: 0,
      listed
    })
    .onConflict((conflict) =>
      conflict.column('session_key').doUpdateSet((set) => ({
        title: sql`case when session.turns = 0 then coalesce(session.title, excluded.title) else session.title end`,
        turns: set('session.turns', '+', 1),
        last_seq: set('session.last_seq', '+', set.ref('excluded.last_seq')),
        updated_at: set.ref('excluded.updated_at'),
        listed: sql`case when excluded.listed = 1 then 1 else session.listed end`
      }))
    )
    .returning('last_seq')
    .executeTakeFirstOrThrow()
  return last_seq
}
