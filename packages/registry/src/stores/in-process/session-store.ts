import { isOwnTurn, type SessionLocks } from '@svc/contract/stores'
import type { RunTable } from './run-table.ts'
import type { SessionTable } from './session-table.ts'
import type { SessionEntry } from './session-entry.ts'
import { requireTurn, runsOnBranch, type KeptTurn } from './turn-tree.ts'
import { sessionKeyText, type Continuation, type SessionStore } from '@svc/contract'

/** Conversations in process memory. */
export function createInProcessSessionStore(
  runs: Pick<RunTable, 'requireEpoch'>,
  locks: SessionLocks,
  sessions: SessionTable
): SessionStore {
  return {
    load(key, count, from) {
      const session = sessions.get(sessionKeyText(key))
      const last = turnBefore(sessions, session, from)
      return session?.tree.messagesTo(last, { limit: count }).map(({ message }) => message!) ?? []
    },
    append(key, turnId, messages, fence, from) {
      runs.requireEpoch(fence)
      const previous = turnBefore(sessions, sessions.get(sessionKeyText(key)), from)
      const session = sessions.ensure(key)
      if (session.append(turnId, messages, previous)) sessions.changed(session, isOwnTurn(turnId))
    },
    hasTurn: (key, runId) => sessions.get(sessionKeyText(key))?.tree.findOf(runId) !== undefined,
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

/** The turn that the next one of a run follows. @throws RUN_ERR_NO_TURN */
export function turnBefore(
  sessions: SessionTable,
  session: SessionEntry | undefined,
  from: Continuation | undefined
): KeptTurn | undefined {
  if (from === undefined) return session?.tree.newest
  const { runId, after, along } = from
  if (along !== undefined && after === undefined) {
    const branched = sessions.get(sessionKeyText(along))?.tree.isBranched
    if (branched !== true) return session?.tree.newest
  }
  const own = session?.tree.findOf(runId)
  if (own !== undefined || after === null) return own
  if (along === undefined) return requireTurn(session?.tree, after!)
  const leading = sessions.get(sessionKeyText(along))
  const last = after === undefined ? leading?.tree.newest : requireTurn(leading?.tree, after)
  return session?.tree.findOfAny(runsOnBranch(last))
}
