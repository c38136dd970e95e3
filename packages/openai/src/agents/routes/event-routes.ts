import { expiryOf, SSE_HEADERS, streamSession, tieToClient } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { OPENAI_ERR_BAD_REQUEST } from '../../errors.ts'
import type { Surface } from '../../surface.ts'
import { SessionProjection } from '../projection/session-projection.ts'
import { requireContext } from './read-session.ts'
import {
  InputEventsSchema,
  REPLIES,
  SessionParamsSchema,
  StreamQuerySchema,
  type InputEvent
} from './request-schemas.ts'
import { sendEvents } from './send-events.ts'

const tags = ['Events']
const params = SessionParamsSchema
type OfSession = { Params: { session_id: string } }

/** What clients send to sessions, and the events of sessions, live. */
export function eventRoutes(scope: FastifyInstance, surface: Surface): void {
  const create = {
    operationId: 'createEvents',
    tags,
    summary: 'Send messages, results of functions and answers to approvals, or cancel',
    params,
    body: InputEventsSchema,
    response: REPLIES.accepted
  }
  scope.post<OfSession & { Body: { events: InputEvent[] } }>(
    '/agents/sessions/:session_id/events',
    { schema: create },
    async (request, reply) => {
      const context = await requireContext(surface, request.params.session_id, request.caller)
      await sendEvents(surface, context, request.body.events, request)
      return reply.code(202).send()
    }
  )

  const stream = {
    operationId: 'streamEvents',
    tags,
    summary: 'Follow a session over all its turns',
    description:
      'The stream begins with the turn under way, or the next one. With `Last-Event-ID` or `after` it continues after that message, increments included.',
    params,
    querystring: StreamQuerySchema,
    response: REPLIES.events
  }
  scope.get<OfSession & { Querystring: { after?: string } }>(
    '/agents/sessions/:session_id/events',
    { schema: stream, exposeHeadRoute: false },
    async ({ params: { session_id: id }, query, headers, caller }, reply) => {
      const after = headers['last-event-id'] ?? query.after
      if (Array.isArray(after)) throw new OPENAI_ERR_BAD_REQUEST('Last-Event-ID must be one id')
      const context = await requireContext(surface, id, caller)
      const events = await streamSession(surface, context.session, new SessionProjection(context), {
        after,
        signal: expiryOf(caller)
      })
      reply.headers(SSE_HEADERS)
      tieToClient(surface.replies, reply)
      return events
    }
  )
}
