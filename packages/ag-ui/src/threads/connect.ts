import { codeOf, createJsonStream, type SessionKey, type StoredSession } from '@svc/contract'
import { sizeOfEntry } from '@svc/contract/stores'
import {
  conversationFiles,
  encodeEntry,
  encodeEvents,
  findActiveRun,
  partsOfTurn,
  readPresent,
  readTurn,
  readTurns,
  requireSession,
  reserveLargest,
  runsOfConversation,
  openEventStream,
  SSE_HEADERS,
  tieToClient,
  wantsPartial,
  type Admit,
  type AddressedRequest,
  type FileUrl,
  type SessionReference,
  type Turn,
  type WireSurface
} from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { toUserMessage } from '../messages/user-message.ts'
import { RunEvents, type EventOptions } from '../projection/run-events.ts'
import { RunStream } from '../projection/run-stream.ts'
import { knowsOutcomes } from '../wire/input.ts'
import { THREADS, type ConnectQuery } from './thread-schemas.ts'

/** Where a turn is found, without its messages. */
export type TurnPlace = Pick<Turn, 'runId' | 'end'>

/** Characters of messages that are sent in one piece. */
const PIECE = 32_768

/**
 * Encodes runs that have ended, one after another, as they are read: as the log of each has it, else as its session has the turn.
 * @param session of the turns; undefined if their runnable keeps none
 * @param admit called before a part that is larger than a piece is encoded
 * @throws RUN_ERR_STORE
 */
async function* encodeTurns(
  surface: WireSurface,
  session: SessionKey | undefined,
  turns: readonly TurnPlace[],
  options: EventOptions,
  admit?: Admit
): AsyncGenerator<string, void> {
  for (const turn of turns) yield* encodeTurn(surface, session, turn, options, admit)
}

async function* encodeTurn(
  { runs }: WireSurface,
  session: SessionKey | undefined,
  turn: TurnPlace,
  options: EventOptions,
  admit?: Admit
): AsyncGenerator<string, void> {
  const { runId } = turn
  const events = new RunEvents(options)
  let text = ''
  let isKept = false
  for await (const entry of readPresent(runs.stores, runId)) {
    isKept = true
    const size = sizeOfEntry(entry)
    if (size > PIECE) await admit?.(size)
    const frames = encodeEntry(entry, events.add(entry.part))
    if (typeof frames === 'string') text += frames
    if (typeof frames === 'string' && text.length < PIECE) continue
    yield text
    text = ''
    if (typeof frames !== 'string') yield* frames
  }
  if (!isKept && session !== undefined) {
    const messages = await readTurn(runs.sessions, session, turn)
    if (messages.length === 0) return
    for (const part of partsOfTurn({ runId, messages }, session.sessionId))
      text += encodeEvents(events.add(part))
    text += encodeEvents(events.finish())
  } else if (events.run.end === undefined) {
    // A run that ended a moment ago may have a log without its end yet.
    text += encodeEvents(events.pause())
  }
  yield text
}

/** A thread as a request names it: a session of a runnable. */
export type Thread = SessionReference

/** Makes the URLs of files of a thread, at this service as the client reaches it, or elsewhere. */
export function fileUrlIn(surface: WireSurface, thread: Thread, request: AddressedRequest): FileUrl {
  return conversationFiles(THREADS, surface, thread, request)
}

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
): Promise<FastifyReply | ReadableStream<string>> {
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
  const reserve = active === undefined ? reserveLargest(reply.raw, request.caller.sub) : undefined
  const admit: Admit | undefined = reserve && ((bytes) => reserve(bytes * COPIES))
  const head = encodeTurns(surface, session, ended, options, admit)
  tieToClient(surface.replies, reply)
  if (active === undefined)
    return reply.headers(SSE_HEADERS).send(ended.length === 0 ? EMPTY : createJsonStream(head))
  const projection = new RunStream(new RunEvents(options), { head })
  return openEventStream(surface, reply, active.runId, projection, wantsPartial(request))
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
