import {
  createSseStream,
  findActiveRun,
  readTurns,
  requireSession,
  reserveMemory,
  runsOfConversation,
  SSE_HEADERS,
  tieToClient,
  type WireSurface
} from '@svc/surface'
import { codeOf, createJsonStream, type StoredSession } from '@svc/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { toUserMessage } from '../messages/user-message.ts'
import { RunEvents, type EventOptions } from '../projection/run-events.ts'
import { RunStream } from '../projection/run-stream.ts'
import { knowsOutcomes } from '../wire/input.ts'
import { encodeTurns, type Admit, type TurnPlace } from './encode-turns.ts'
import type { ConnectQuery } from './thread-schemas.ts'
import { fileUrlIn, type Thread } from './thread.ts'

/** Messages of a session, unless the request says. */
const PAGE = 100

/** What is in memory of a part while it is sent: its JSON, its value, the content of its event, the event. */
const COPIES = 4

/** A comment: the thread has no runs. */
const EMPTY = ': no runs\n\n'

/**
 * Replies with the runs of a thread from its start, each as its log has it, and follows the one under way until it ends or waits. A thread that
 * the caller has not, or that has no runs, is empty.
 * @throws AGUI_ERR_FOREIGN_USER, RUN_ERR_STORE
 */
export async function connect(
  surface: WireSurface,
  thread: Thread,
  { protocolVersion, limit = PAGE }: ConnectQuery,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { runs, heartbeat } = surface
  const fileUrl = fileUrlIn(surface, thread, request)
  const options: EventOptions = {
    fileUrl,
    isCurrent: knowsOutcomes(protocolVersion),
    toMessage: (runId, input) => toUserMessage(runId, input, fileUrl)
  }
  const active = await findActiveRun(surface, thread, request.caller)
  const { session, turns } = await turnsOf(surface, thread, limit, request.caller)
  const ended = turns.filter(({ runId }) => runId !== active?.runId)
  // A run under way is followed for as long as it lasts.
  const admit = active === undefined ? admitLargest(reply, request.caller.sub) : undefined
  const head = encodeTurns(surface, session, ended, options, admit)
  tieToClient(surface.replies, reply)
  reply.headers(SSE_HEADERS)
  if (active === undefined) return reply.send(ended.length === 0 ? EMPTY : createJsonStream(head))
  const projection = new RunStream(new RunEvents(options), { head })
  return reply
    .header('x-run-id', active.runId)
    .send(createSseStream(runs, active.runId, { heartbeat, projection }))
}

/** Reserves memory for the largest part so far, until the reply is over. */
function admitLargest(reply: FastifyReply, owner: string): Admit {
  let reserved = 0
  return (bytes) => {
    const missing = bytes * COPIES - reserved
    if (missing <= 0) return undefined
    reserved += missing
    return reserveMemory(reply.raw, owner, missing)
  }
}

/** The last turns of a thread, oldest first. Runnables that keep no turns, such as workflows, have their last runs only. */
async function turnsOf(
  surface: WireSurface,
  thread: Thread,
  limit: number,
  caller: FastifyRequest['caller']
): Promise<{ session?: StoredSession; turns: readonly TurnPlace[] }> {
  const session = await requireSession(surface, thread, caller).catch((err: unknown) => {
    if (codeOf(err) === 'RUN_ERR_SESSION_NOT_FOUND') return undefined
    throw err
  })
  if (session !== undefined && session.turns > 0) {
    const { turns } = await readTurns(surface.runs.sessions, session, { limit, contents: false })
    return { session, turns }
  }
  return { turns: await runsOfConversation(surface, thread, caller, limit) }
}
