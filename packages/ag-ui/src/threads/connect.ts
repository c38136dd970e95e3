import { createSseStream, SSE_HEADERS } from '@svc/registry/sse'
import { codeOf, requireSession } from '@svc/registry/kit'
import {
  findActiveRun,
  partsOfTurn,
  readPresent,
  readTurns,
  runsOfConversation,
  tieToClient,
  type Turn
} from '@svc/registry/wire-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { toUserMessage } from '../messages/user-message.ts'
import { RunEvents, type EventOptions } from '../projection/run-events.ts'
import { encodeEvents, RunStream } from '../projection/run-stream.ts'
import type { Surface } from '../surface.ts'
import type { AgUiEvent } from '../wire/events.ts'
import { knowsOutcomes } from '../wire/input.ts'
import type { ConnectQuery } from './thread-schemas.ts'
import { fileUrlIn, type Thread } from './thread.ts'

/** Messages of a session, unless the request says. */
const PAGE = 100

/** A comment: the thread has no runs. */
const EMPTY = ': no runs\n\n'

/**
 * Replies with the runs of a thread from its start, each as its log has it, and follows the one under way until it ends or waits. A thread that
 * the caller has not, or that has no runs, is empty.
 * @throws AGUI_ERR_FOREIGN_USER, RUN_ERR_STORE
 */
export async function connect(
  surface: Surface,
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
  const texts: string[] = []
  for (const turn of await turnsOf(surface, thread, limit, request.caller)) {
    if (turn.runId === active?.runId) continue
    const events = await eventsOf(surface, thread, turn, options)
    if (events.length > 0) texts.push(encodeEvents(events))
  }
  reply.headers(SSE_HEADERS)
  if (active === undefined) return reply.send(texts.join('') || EMPTY)
  const projection = new RunStream(new RunEvents(options), { head: texts })
  tieToClient(surface.replies, reply)
  return reply
    .header('x-run-id', active.runId)
    .send(createSseStream(runs, active.runId, { heartbeat, projection }))
}

/** The last turns of a thread, oldest first. Runnables that keep no turns, such as workflows, have their last runs only. */
async function turnsOf(
  surface: Surface,
  thread: Thread,
  limit: number,
  caller: FastifyRequest['caller']
): Promise<readonly Turn[]> {
  const session = await requireSession(surface, thread, caller).catch((err: unknown) => {
    if (codeOf(err) === 'RUN_ERR_SESSION_NOT_FOUND') return undefined
    throw err
  })
  if (session !== undefined && session.turns > 0)
    return (await readTurns(surface.runs.sessions, session, { limit })).turns
  const last = await runsOfConversation(surface, thread, caller, limit)
  return last.map(({ runId }) => ({ runId, messages: [] }))
}

/** The events of a run that has ended: as its log has it, else as its session has the turn. */
async function eventsOf(
  { runs }: Surface,
  { sessionId }: Thread,
  turn: Turn,
  options: EventOptions
): Promise<AgUiEvent[]> {
  const events = new RunEvents(options)
  const made: AgUiEvent[] = []
  for await (const { part } of readPresent(runs.stores, turn.runId)) made.push(...events.add(part))
  if (made.length === 0 && turn.messages.length > 0) {
    for (const part of partsOfTurn(turn, sessionId)) made.push(...events.add(part))
    made.push(...events.finish())
  }
  // A run that ended a moment ago may have a log without its end yet.
  return events.ended ? made : [...made, ...events.pause()]
}
