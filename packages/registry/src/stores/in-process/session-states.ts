import type { BrowserState, BrowserStateStore, RemoteSession, RemoteSessionStore } from '@svc/contract'
import { BySession, type FenceCheck } from './by-session.ts'

const MAX_SESSIONS = 1_000

/**
 * Keeps what browsers know in the sessions that were used last, in process memory.
 * @param runs needed for writes with a fence
 * @param maxSessions keeps at least this many, and at most twice as many
 */
export function createInProcessBrowserStateStore(
  runs?: FenceCheck,
  maxSessions: number = MAX_SESSIONS
): BrowserStateStore {
  const sessions = new BySession<BrowserState>(runs, maxSessions)
  return {
    load: (key) => sessions.get(key),
    save: (key, state, fence) => sessions.change(key, fence, () => state),
    remove: (key) => sessions.delete(key),
    keys: (query) => sessions.keys(query)
  }
}

/** Conversations of other services in process memory. @param runs needed for writes with a fence */
export function createInProcessRemoteSessionStore(runs?: FenceCheck): RemoteSessionStore {
  const sessions = new BySession<Map<string, RemoteSession>>(runs)
  return {
    load: (key, remote) => sessions.get(key)?.get(remote),
    save: (key, remote, session, fence) =>
      sessions.change(key, fence, (kept = new Map()) => kept.set(remote, { ...session })),
    remove(key, remote) {
      const kept = sessions.get(key)
      if (remote !== undefined) kept?.delete(remote)
      if (remote === undefined || kept?.size === 0) sessions.delete(key)
    },
    keys: (query) => sessions.keys(query)
  }
}
