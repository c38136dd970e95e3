import { KeyedLock } from '../keyed-lock.ts'
import { RecentMap } from './recent-map.ts'
import { sessionKeyText, type SessionMessage, type SessionStore } from '../../contract/ports/session-store.ts'

/** How much of conversations is kept in memory. */
export interface MemorySessionLimits {
  /** Sessions, at least this many of those used last and at most twice as many; default 10,000. */
  maxSessions?: number
  /** Messages of one session, the oldest go first; default 10,000. */
  maxMessages?: number
}

interface Session {
  messages: SessionMessage[]
  lastTurn: string
}

/** Conversations in memory. */
export function createMemorySessionStore(limits: MemorySessionLimits = {}): SessionStore {
  const { maxSessions = 10_000, maxMessages = 10_000 } = limits
  const sessions = new RecentMap<Session>(maxSessions)
  const locks = new KeyedLock()

  return {
    load(key, count) {
      const messages = sessions.get(sessionKeyText(key))?.messages ?? []
      return messages.slice(Math.max(0, messages.length - count))
    },
    append(key, turnId, messages) {
      const text = sessionKeyText(key)
      const session = sessions.get(text) ?? { messages: [], lastTurn: '' }
      if (session.lastTurn === turnId) return
      session.lastTurn = turnId
      session.messages.push(...messages)
      if (session.messages.length > maxMessages * 2)
        session.messages.splice(0, session.messages.length - maxMessages)
      sessions.set(text, session)
    },
    remove: (key) => sessions.delete(sessionKeyText(key)),
    // What is too much goes when there is more.
    sweep: () => 0,
    lock: (key, signal) => locks.lock(sessionKeyText(key), signal)
  }
}
