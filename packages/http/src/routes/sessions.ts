import {
  startCompaction,
  CompactedSessionSchema,
  expiryOf,
  formatPosition,
  messagesLeftOut,
  ownerOfSessions,
  presentOf,
  removeSession,
  requireSession,
  reserveMemory,
  sendJson,
  sendPieces,
  SSE_HEADERS,
  PartialReader,
  streamEntries,
  toRunRecord,
  wantsPartial,
  toSession,
  jsonReply
} from '@svc/surface'
import {
  defined,
  encodePieces,
  RunRecordSchema,
  SessionChangeSchema,
  SessionForkSchema,
  SessionSchema,
  type MessagePage
} from '@svc/contract'
import { runIdOfTurn } from '@svc/contract/stores'
import { HTTP_ERR_BAD_LAST_EVENT_ID } from '../errors.ts'
import {
  CHANNEL_STREAM,
  describeOperation,
  emptyReply,
  errorReplies,
  eventStreamReply
} from '../openapi/describe-operation.ts'
import { sendPage } from '../replies/collect-page.ts'
import { withMember } from '../replies/run-records.ts'
import { readPatience } from '../starting/patience.ts'
import { endsWithin, watchClient } from '../starting/start-run.ts'
import { PreferHeadersSchema, StreamHeadersSchema } from '../schemas/parameters.ts'
import {
  ChannelQuerySchema,
  CompactionQuerySchema,
  MessageQuerySchema,
  SessionDetailSchema,
  SessionListSchema,
  SessionOwnerSchema,
  SessionParamsSchema,
  SessionQuerySchema,
  SessionRemovalSchema,
  SharedMessagesSchema
} from '../schemas/sessions.ts'
import type { HttpScope, Surface } from '../surface.ts'

/** Characters of the messages of one page; a larger message makes a page by itself. */
const MAX_LENGTH = 1_048_576
const PATH = '/sessions/:kind/:name/:sessionId'
const config = { access: 'authenticated' } as const
const params = SessionParamsSchema
const list = {
  ...describeOperation('list-sessions', 'Your own conversations, last changed first'),
  querystring: SessionQuerySchema,
  response: {
    200: jsonReply('One page of sessions', SessionListSchema),
    ...errorReplies(400, 403, 404, 500, 503)
  }
}
const get = {
  ...describeOperation(
    'get-session',
    'One conversation, with its newest messages',
    'Messages of earlier turns follow with `before`. Binary content is a reference.'
  ),
  params,
  querystring: MessageQuerySchema,
  response: {
    200: jsonReply('The session and a page of its messages', SessionDetailSchema),
    ...errorReplies(400, 403, 404, 414, 500, 503)
  }
}
const change = {
  ...describeOperation(
    'change-session',
    'Name a conversation, or attach your own texts to it',
    'What is left out stays as it is.'
  ),
  params,
  querystring: SessionOwnerSchema,
  body: SessionChangeSchema,
  response: {
    200: jsonReply('The session', SessionSchema),
    ...errorReplies(400, 403, 404, 413, 414, 415, 500, 503)
  }
}
const remove = {
  ...describeOperation(
    'remove-session',
    'Delete a conversation with all that was made of it',
    'Its messages go, and its runs with their logs and files, memories, and what browsers and other services know. A run under way is canceled first. After a failure, repeat the request.'
  ),
  params,
  querystring: SessionRemovalSchema,
  response: {
    200: jsonReply('Deleted; forks keep messages', SharedMessagesSchema),
    204: emptyReply('Deleted'),
    ...errorReplies(400, 403, 404, 409, 414, 500, 503)
  }
}
const fork = {
  ...describeOperation(
    'fork-session',
    'Begin a conversation with the history of another one, up to one of its turns',
    'Both share these messages. What is said from then on in one of them is not in the other.'
  ),
  params,
  querystring: SessionOwnerSchema,
  body: SessionForkSchema,
  response: {
    201: jsonReply('The new session', SessionSchema, { location: 'The URL of the session' }),
    ...errorReplies(400, 403, 404, 409, 413, 414, 415, 500, 503)
  }
}
const compact = {
  ...describeOperation(
    'compact-session',
    'Have a summary replace the oldest messages of a conversation in later prompts',
    'A run of the agent or team takes the turn, and says nothing. No message is removed.'
  ),
  params,
  headers: PreferHeadersSchema,
  querystring: CompactionQuerySchema,
  response: {
    200: jsonReply('The run, and how many messages later prompts leave out', CompactedSessionSchema),
    202: jsonReply('The run, with `Prefer: respond-async` or `wait=N`', RunRecordSchema, {
      location: 'The URL of the run'
    }),
    ...errorReplies(400, 403, 404, 409, 414, 429, 500, 503)
  }
}
const follow = {
  ...describeOperation('stream-session', 'Follow a conversation over all its runs', CHANNEL_STREAM),
  params,
  headers: StreamHeadersSchema,
  querystring: ChannelQuerySchema,
  response: {
    200: eventStreamReply('The parts of its runs, live'),
    ...errorReplies(400, 403, 404, 410, 414, 500, 503)
  }
}

/** `/sessions`: list your own, read one, change it, delete it, follow it. */
export function sessionsRoutes(scope: HttpScope, surface: Surface): void {
  const { runs, exposed, replies, heartbeat } = surface
  const { sessions } = runs

  scope.get('/sessions', { schema: list, config }, async ({ principal, query }, reply) => {
    const { userId, kind, name, limit, cursor } = query
    const page = await sessions.list({
      owner: ownerOfSessions(surface, principal, userId),
      scope: exposed.scope(),
      limit,
      ...defined({ kind, name, cursor })
    })
    const items = page.sessions.map((each) => JSON.stringify(toSession(each)))
    return sendPage(reply, 'sessions', { items, nextCursor: page.nextCursor })
  })

  scope.get(PATH, { schema: get, config }, async ({ params: named, principal, query }, reply) => {
    const { userId, limit, before, branch } = query
    const session = await requireSession(surface, { ...named, userId }, principal)
    // A run that ends from now on is in the messages and in the stream, and no reader misses it.
    const lastEventId = formatPosition(presentOf(session))
    const page = await sessions.messages(session, {
      limit,
      bytes: MAX_LENGTH,
      admit: (bytes) => reserveMemory(reply.raw, principal.sub, bytes),
      ...defined({ before, branch })
    })
    return sendPieces(replies, reply, encodeDetail({ ...toSession(session), lastEventId }, page))
  })

  scope.patch(PATH, { schema: change, config }, async ({ params: named, principal, query, body }, reply) => {
    const session = await requireSession(surface, { ...named, ...query }, principal)
    return sendJson(replies, reply, toSession(await sessions.update(session, body)))
  })

  scope.delete(PATH, { schema: remove, config }, async ({ params: named, principal, query }, reply) => {
    const session = await requireSession(surface, { ...named, userId: query.userId }, principal)
    const { shared } = await removeSession(runs, session, { forks: query.forks === 'true' })
    return shared > 0 ? sendJson(replies, reply, { shared }) : reply.code(204).send()
  })

  scope.post(`${PATH}/fork`, { schema: fork, config }, async (request, reply) => {
    const { params: named, principal, query, body } = request
    const session = await requireSession(surface, { ...named, ...query }, principal)
    const made = toSession(await sessions.fork(session, body))
    const path = [made.kind, made.name, made.sessionId].map(encodeURIComponent).join('/')
    reply.code(201).header('location', `${surface.baseOf(request)}/sessions/${path}`)
    return sendJson(replies, reply, made)
  })

  scope.post(`${PATH}/compact`, { schema: compact, config }, async (request, reply) => {
    const { params: named, principal, query, headers, log } = request
    const { userId, whenBusy } = query
    const asked = { principal, headers, log, ...defined({ whenBusy }) }
    const run = await startCompaction(surface, { ...named, ...defined({ userId }) }, asked)
    reply.header('x-run-id', run.runId)
    const patience = readPatience(headers.prefer)
    if (patience === undefined) watchClient(replies, reply)
    else {
      const inTime = await endsWithin(surface, run, reply, patience.ms)
      patience.apply(reply, inTime)
      if (!inTime) {
        reply.code(202).header('location', `${surface.baseOf(request)}/runs/${run.runId}`)
        return toRunRecord((await runs.find(run.runId))!)
      }
    }
    const messages = await messagesLeftOut(run)
    const record = { ...toRunRecord((await runs.find(run.runId))!), messages }
    return sendPieces(replies, reply, withMember(record, 'result', runs.stores.runs.readResult(run.runId)))
  })

  scope.get(`${PATH}/stream`, { schema: follow, config }, async (request, reply) => {
    const { params: named, principal, query, headers } = request
    const { userId, after } = query
    const session = await requireSession(surface, { ...named, userId }, principal)
    const place = headers['last-event-id'] ?? after
    if (Array.isArray(place)) throw new HTTP_ERR_BAD_LAST_EVENT_ID()
    const expiry = expiryOf(principal)
    const reader = wantsPartial(request)
      ? await PartialReader.ofSession(runs, session, place, expiry)
      : await sessions.open(session, place, expiry)
    reply.headers(SSE_HEADERS)
    if (request.method === 'HEAD') {
      reader.close()
      return reply.send()
    }
    watchClient(replies, reply)
    return streamEntries(reader, { heartbeat })
  })
}

// Damaged messages are left out.
function* encodeDetail(
  session: object,
  { messages, branches, nextCursor }: MessagePage
): Generator<string, void> {
  yield `${JSON.stringify(session).slice(0, -1)},"messages":[`
  let comma = ''
  for (const { turnId, message } of messages) {
    if (message === null) continue
    yield `${comma}{"runId":${JSON.stringify(runIdOfTurn(turnId))},"message":`
    yield* encodePieces(message)
    yield '}'
    comma = ','
  }
  yield `],"branches":${JSON.stringify(branches)},"nextCursor":${JSON.stringify(nextCursor)}}`
}
