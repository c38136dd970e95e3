import { RUN_ERR_FENCED, sessionKeyText, type SessionIndex } from '@svc/contract'
import { type SessionFollowers } from '@svc/contract/stores'
import { toSessionRow } from '../rows/session-rows.ts'
import type { RunWriter } from './run-write.ts'

/** The part of the list of sessions that runs change. */
export interface SessionEntry extends Pick<SessionIndex, 'enter' | 'follow'> {
  /** A session was removed: notifies its followers. */
  removed(sessionKey: string): void
}

/** Lets runs enter sessions, by the writer of all that they write: after their creation, and before their parts. */
export function createSessionEntry(
  writer: RunWriter,
  followers: Pick<SessionFollowers, 'follow' | 'notify'>
): SessionEntry {
  return {
    async enter(key, runId) {
      const sessionKey = sessionKeyText(key)
      const { created_at: _, ...row } = toSessionRow(sessionKey, key, Date.now())
      if (!(await writer.write({ kind: 'enter', runId, row }))) throw new RUN_ERR_FENCED(runId)
      followers.notify(sessionKey)
    },
    removed: (sessionKey) => followers.notify(sessionKey),
    follow: (key, listener) => followers.follow(sessionKeyText(key), listener)
  }
}
