import { sessionKeyText, type SessionMessage, type SessionStore } from '@svc/contract'
import { isOwnTurn, titleOf, type SessionLocks } from '@svc/contract/stores'
import { RUN_ERR_FENCED } from '@svc/contract/errors'
import type { Kysely } from 'kysely'
import type { Commit } from '../commit.ts'
import { parseStored, type SkipDamaged } from '../encoding/values.ts'
import { removeSessions, removeTurns } from '../maintenance/sweep-sessions.ts'
import { findSessionKeys } from '../rows/session-rows.ts'
import { findBefore, findPlace, hasTurn } from '../rows/session-branches.ts'
import { toEnteredSession, type RunWriter, type SessionEntry } from '../runs/run-write.ts'
import type { Tables } from '../tables.ts'
import { readMessages, type NewestMessages } from './session-messages.ts'

/** Conversations, in SQL; their turns are ordered within this process. */
export function createSessionStore(
  db: Kysely<Tables>,
  commit: Commit,
  writer: RunWriter,
  skipDamaged: SkipDamaged,
  sweep: SessionStore['sweep'],
  locks: SessionLocks,
  entry: Pick<SessionEntry, 'changed'>,
  readNewest?: NewestMessages
): SessionStore {
  return {
    async load(key, maxMessages, from, turnId) {
      const sessionKey = sessionKeyText(key)
      const before = turnId === undefined ? undefined : await findBefore(db, sessionKey, turnId)
      const end = before ?? (from && (await findPlace(db, sessionKey, from)))
      const newest = end === undefined ? await readNewest?.(sessionKey, maxMessages) : undefined
      const short = newest?.map((json) => parseStored<SessionMessage>(json))
      if (short !== undefined && !short.includes(undefined)) return (short as SessionMessage[]).toReversed()
      const { messages: stored } = await readMessages(db, sessionKey, maxMessages, { end }, skipDamaged)
      const messages: SessionMessage[] = []
      for (const { message } of stored) {
        // The messages before a damaged one may be half of an exchange.
        if (message === null) break
        messages.push(message)
      }
      return messages.toReversed()
    },
    async append(key, turnId, messages, fence, from) {
      const sessionKey = sessionKeyText(key)
      const { runId = turnId, epoch = null } = fence ?? {}
      const isAccepted = await writer.write({
        kind: 'turn',
        runId,
        epoch,
        row: toEnteredSession(sessionKey, key),
        turnId,
        title: titleOf(messages),
        listed: isOwnTurn(turnId) ? 1 : 0,
        messages: messages.map((message) => JSON.stringify(message)),
        after: from && (await findPlace(db, sessionKey, from))
      })
      if (!isAccepted) throw new RUN_ERR_FENCED(runId)
    },
    hasTurn: (key, runId) => hasTurn(db, sessionKeyText(key), runId),
    async remove(key) {
      const sessionKey = sessionKeyText(key)
      const left = await commit.write((trx) => removeSessions(trx, [sessionKey]))
      entry.changed(sessionKey)
      return left
    },
    removeTurns: (key, runIds) => commit.write((trx) => removeTurns(trx, sessionKeyText(key), runIds)),
    keys: (query) => findSessionKeys(db, 'session', query),
    sweep,
    lock: (key, signal, holder, onPlace) => locks.lock(sessionKeyText(key), signal, holder, onPlace),
    place: (key, runId, ifFree) => locks.place(sessionKeyText(key), runId, ifFree)
  }
}
