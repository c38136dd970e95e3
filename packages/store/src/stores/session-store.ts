import { sessionKeyText, type SessionMessage, type SessionStore } from '@svc/contract'
import { isOwnTurn, reachOf, titleOf, type SessionLocks } from '@svc/contract/stores'
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

/** Messages of a history that are read first. */
const FIRST_PAGE = 200

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
    async load(key, maxMessages, from, turnId, bounds) {
      const sessionKey = sessionKeyText(key)
      const before = turnId === undefined ? undefined : await findBefore(db, sessionKey, turnId)
      const end = before ?? (from && (await findPlace(db, sessionKey, from)))
      const read = async (limit: number): Promise<SessionMessage[]> => {
        const newest = end === undefined ? await readNewest?.(sessionKey, limit) : undefined
        const short = newest?.map((json) => parseStored<SessionMessage>(json))
        if (short !== undefined && !short.includes(undefined)) return short as SessionMessage[]
        const query = { end, bytes: bounds?.maxBytes }
        const { messages } = await readMessages(db, sessionKey, limit, query, skipDamaged)
        // The messages before a damaged one may be half of an exchange.
        const damaged = messages.findIndex(({ message }) => message === null)
        return messages.slice(0, damaged < 0 ? undefined : damaged).map(({ message }) => message!)
      }
      if (bounds?.fromSummary !== true) return (await read(maxMessages)).toReversed()
      // Few sessions have more messages than these since their summary.
      const page = Math.min(maxMessages, FIRST_PAGE)
      let messages = await read(page)
      if (messages.length === page && page < maxMessages && reachOf(messages) > page)
        messages = await read(maxMessages)
      return messages.slice(0, reachOf(messages)).toReversed()
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
