import { eventsReply, findSession, jsonReply, reserveLargest, sendJson, type WireSurface } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { requireThread } from '../threads/thread-routes.ts'
import { NoQuerySchema, SessionParamsSchema, type SessionParams } from '../sessions/session-schemas.ts'
import { FAILURES } from '../wire/error-body.ts'
import { StreamEventSchema, type PreviewType } from '../wire/events.ts'
import { valuesOf } from '../wire/lists.ts'
import {
  EventsQuerySchema,
  EventsSchema,
  SendBodySchema,
  SentEventsSchema,
  StreamHeadersSchema,
  StreamQuerySchema,
  ThreadParamsSchema,
  type EventsQuery,
  type SendBody,
  type StreamQuery,
  type ThreadParams
} from './event-schemas.ts'
import { listEvents } from './list-events.ts'
import { sendEvents } from './send-events.ts'
import { openEvents } from './stream-events.ts'

type OfSession<Q> = { Params: SessionParams; Querystring: Q; Headers: { 'last-event-id'?: string } }
type OfThread<Q> = { Params: ThreadParams; Querystring: Q; Headers: { 'last-event-id'?: string } }

const list = {
  operationId: 'listEvents',
  tags: ['Events'],
  summary: 'The events of a session, oldest first',
  params: SessionParamsSchema,
  querystring: EventsQuerySchema,
  response: { 200: jsonReply('One page of events', EventsSchema), ...FAILURES }
}
const send = {
  operationId: 'sendEvents',
  tags: ['Events'],
  summary: 'Send messages, interrupts and answers to a session',
  params: SessionParamsSchema,
  querystring: NoQuerySchema,
  body: SendBodySchema,
  response: { 200: jsonReply('The events that were sent', SentEventsSchema), ...FAILURES }
}
const stream = {
  operationId: 'streamEvents',
  tags: ['Events'],
  summary: 'Follow a session: the run under way from its beginning, and those that follow',
  params: SessionParamsSchema,
  headers: StreamHeadersSchema,
  querystring: StreamQuerySchema,
  response: { 200: eventsReply('The events, live', StreamEventSchema), ...FAILURES }
}

/** The events of sessions and of their threads. */
export function eventRoutes(scope: FastifyInstance, surface: WireSurface): void {
  const { replies } = surface
  const path = '/v1/sessions/:session_id'
  const thread = `${path}/threads/:thread_id`
  const ofThread = (schema: typeof list | typeof stream, operationId: string) => ({
    ...schema,
    params: ThreadParamsSchema,
    operationId
  })

  scope.get<OfSession<EventsQuery>>(
    `${path}/events`,
    { schema: list, exposeHeadRoute: false },
    async ({ params, query, caller }, reply) => {
      const session = await findSession(surface, params.session_id, caller)
      const admit = reserveLargest(reply.raw, caller.sub)
      return sendJson(replies, reply, await listEvents(surface, session, query, caller, admit))
    }
  )

  scope.post<{ Params: SessionParams; Body: SendBody }>(
    `${path}/events`,
    { schema: send },
    async (request, reply) => {
      const session = await findSession(surface, request.params.session_id, request.caller)
      return sendJson(replies, reply, { data: await sendEvents(surface, session, request) })
    }
  )

  scope.get<OfSession<StreamQuery>>(
    `${path}/events/stream`,
    { schema: stream, exposeHeadRoute: false },
    async ({ params, query, headers, caller }, reply) => {
      const session = await findSession(surface, params.session_id, caller)
      return openEvents(surface, session, readView(query, headers), caller, reply)
    }
  )

  scope.get<OfThread<EventsQuery>>(
    `${thread}/events`,
    { schema: ofThread(list, 'listThreadEvents'), exposeHeadRoute: false },
    async ({ params: { session_id: id, thread_id: threadId }, query, caller }, reply) => {
      const session = await findSession(surface, id, caller)
      const turn = await requireThread(surface, session, threadId, caller)
      const shown = turn === undefined ? undefined : threadId
      const admit = reserveLargest(reply.raw, caller.sub)
      return sendJson(replies, reply, await listEvents(surface, session, query, caller, admit, shown))
    }
  )

  scope.get<OfThread<StreamQuery>>(
    `${thread}/stream`,
    { schema: ofThread(stream, 'streamThreadEvents'), exposeHeadRoute: false },
    async ({ params: { session_id: id, thread_id: threadId }, query, headers, caller }, reply) => {
      const session = await findSession(surface, id, caller)
      const turn = await requireThread(surface, session, threadId, caller)
      const view = readView(query, headers)
      const shown = turn === undefined ? view : { ...view, threadId }
      return openEvents(surface, session, shown, caller, reply)
    }
  )
}

function readView(
  { event_deltas: plain, 'event_deltas[]': bracketed, after }: StreamQuery,
  { 'last-event-id': lastEventId }: { 'last-event-id'?: string }
) {
  const previews = new Set<PreviewType>(valuesOf(plain, bracketed) ?? [])
  return { previews, after: lastEventId ?? after }
}
