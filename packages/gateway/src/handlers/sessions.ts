import { sessionKeyText } from '@svc/contract'
import {
  startCompaction,
  formatPosition,
  messagesLeftOut,
  ownerOfSessions,
  PartialReader,
  requireSession,
  toSession
} from '@svc/surface'
import { GTW_ERR_NOT_WATCHED } from '../errors.ts'
import type {
  SessionCompactEvent,
  SessionListEvent,
  SessionUnwatchEvent,
  SessionWatchEvent
} from '../events/session-events.ts'
import { requireOpen, type Handler } from './handler.ts'

const DEFAULT_LIMIT = 20

/** `session.list`: a page of the caller's sessions. @throws REG_ERR_BAD_CURSOR, RUN_ERR_SESSIONS_NOT_KEPT */
export const listSessions: Handler<SessionListEvent> = async (surface, { principal }, payload) => {
  const { runs, exposed } = surface
  const { userId, limit = DEFAULT_LIMIT, ...filter } = payload
  const owner = ownerOfSessions(surface, principal, userId)
  const page = await runs.sessions.list({ owner, scope: exposed.scope(), limit, ...filter })
  return { ack: { sessions: page.sessions.map(toSession), nextCursor: page.nextCursor } }
}

/**
 * `session.compact`: has a session compacted, and answers when it is.
 * @throws RUN_ERR_SESSION_NOT_FOUND, GTW_ERR_MISSING_SCOPE, GTW_ERR_FORBIDDEN, GTW_ERR_UNKNOWN_RUNNABLE, RUN_ERR_NO_COMPACTION, RUN_ERR_SESSION_BUSY,
 * the errors of `RunEngine.start` and of the run
 */
export const compactSession: Handler<SessionCompactEvent> = async (surface, connection, payload) => {
  const { whenBusy, ...reference } = payload
  const { principal, headers } = connection
  const run = await startCompaction(surface, reference, { principal, headers, log: surface.log, whenBusy })
  return { ack: { runId: run.runId, messages: await messagesLeftOut(run) } }
}

/**
 * `session.watch`: follows a session over its runs. Replaces an earlier watch of the same session by this socket.
 * @throws RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_DRAINING, RUN_ERR_BAD_POSITION, RUN_ERR_LOG_GONE, GTW_ERR_TOO_MANY_RUNS
 */
export const watchSession: Handler<SessionWatchEvent> = async (surface, connection, payload) => {
  const { after, partial = false, ...reference } = payload
  const session = await requireSession(surface, reference, connection.principal)
  requireOpen(surface.runs)
  const id = feedOf(session)
  connection.requireCapacity(id)
  const { runs } = surface
  const reader = partial
    ? await PartialReader.ofSession(runs, session, after)
    : await runs.sessions.open(session, after)
  const { ordinal = 0, after: seq } = reader
  return {
    ack: { id: formatPosition({ ordinal, seq }), session: toSession(session) },
    after: () => connection.followSession(id, session, reader)
  }
}

/** `session.unwatch`: follows a session no longer. @throws RUN_ERR_SESSION_NOT_FOUND, GTW_ERR_NOT_WATCHED */
export const unwatchSession: Handler<SessionUnwatchEvent> = async (surface, connection, payload) => {
  const session = await requireSession(surface, payload, connection.principal)
  if (!connection.unfollow(feedOf(session))) throw new GTW_ERR_NOT_WATCHED(payload.sessionId)
  return { ack: { ok: true } }
}

// No run has such an id.
function feedOf(session: Parameters<typeof sessionKeyText>[0]): string {
  return `session ${sessionKeyText(session)}`
}
