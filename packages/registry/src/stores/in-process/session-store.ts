import type { SessionLocks } from '../session-locks.ts'
import { isOwnTurn } from '../session-title.ts'
import type { RunTable } from './run-table.ts'
import type { SessionTable } from './session-table.ts'
import { sessionKeyText, type SessionStore } from '../../contract/ports/session-store.ts'

/** Conversations in process memory. */
export function createInProcessSessionStore(
  runs: Pick<RunTable, 'requireEpoch'>,
  locks: SessionLocks,
  sessions: SessionTable
): SessionStore {
  return {
    load(key, count) {
      const session = sessions.get(sessionKeyText(key))
      return session?.messagesBefore(Infinity, count).map(({ message }) => message!) ?? []
    },
    append(key, turnId, messages, fence) {
      runs.requireEpoch(fence)
      const session = sessions.ensure(key)
      if (session.append(turnId, messages)) sessions.changed(session, isOwnTurn(turnId))
    },
    remove: (key) => sessions.remove(sessionKeyText(key)),
    removeTurns(key, runIds) {
      const session = sessions.get(sessionKeyText(key))
      if (session?.removeTurns(new Set(runIds)) === true && !session.isListed) sessions.remove(session.text)
    },
    keys: (query) => sessions.keys(query),
    // The table enforces the bounds.
    sweep: () => 0,
    lock: (key, signal, holder, onPlace) => locks.lock(sessionKeyText(key), signal, holder, onPlace),
    place: (key, runId, ifFree) => locks.place(sessionKeyText(key), runId, ifFree)
  }
}
