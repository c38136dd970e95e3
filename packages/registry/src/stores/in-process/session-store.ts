import type { SessionLocks } from '../session-locks.ts'
import { RecentMap } from './recent-map.ts'
import type { RunTable } from './run-table.ts'
import { sessionKeyText, type SessionMessage, type SessionStore } from '../../contract/ports/session-store.ts'

// Keeps at least this many recently used sessions, and at most twice as many.
const MAX_SESSIONS = 10_000
// Per session; the oldest messages go first.
const MAX_MESSAGES = 10_000

interface Session {
  messages: SessionMessage[]
  lastTurn: string
}

/** Conversations in process memory. */
export function createInProcessSessionStore(
  runs: Pick<RunTable, 'requireEpoch'>,
  locks: SessionLocks
): SessionStore {
  const sessions = new RecentMap<Session>(MAX_SESSIONS)

  return {
    load(key, count) {
      const messages = sessions.get(sessionKeyText(key))?.messages ?? []
      return messages.slice(Math.max(0, messages.length - count))
    },
    append(key, turnId, messages, fence) {
      runs.requireEpoch(fence)
      const text = sessionKeyText(key)
      const session = sessions.get(text)
      if (session === undefined) return sessions.set(text, { messages: [...messages], lastTurn: turnId })
      if (session.lastTurn === turnId) return
      session.lastTurn = turnId
      session.messages.push(...messages)
      if (session.messages.length > MAX_MESSAGES * 2)
        session.messages.splice(0, session.messages.length - MAX_MESSAGES)
      sessions.set(text, session)
    },
    remove: (key) => sessions.delete(sessionKeyText(key)),
    // `append` and the map enforce the bounds.
    sweep: () => 0,
    lock: (key, signal, holder) => locks.lock(sessionKeyText(key), signal, holder)
  }
}
