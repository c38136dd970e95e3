import {
  sessionKeyText,
  type RemoteSession,
  type RemoteSessionStore,
  type SessionKey
} from '../../contract/ports/session-store.ts'
import { RecentMap } from './recent-map.ts'
import type { RunTable } from './run-table.ts'

// Keeps at least this many recently used ones, and at most twice as many.
const MAX_SESSIONS = 10_000
const NO_RUNS = { requireEpoch: () => undefined }

/** Conversations of other services in process memory. @param runs needed for writes with a fence */
export function createInProcessRemoteSessionStore(
  runs: Pick<RunTable, 'requireEpoch'> = NO_RUNS
): RemoteSessionStore {
  const sessions = new RecentMap<RemoteSession>(MAX_SESSIONS)
  return {
    load: (key, remote) => sessions.get(keyOf(key, remote)),
    save(key, remote, session, fence) {
      runs.requireEpoch(fence)
      sessions.set(keyOf(key, remote), { ...session })
    },
    remove: (key, remote) => sessions.delete(keyOf(key, remote))
  }
}

function keyOf(key: SessionKey, remote: string): string {
  return `${remote.length}/${remote}${sessionKeyText(key)}`
}
