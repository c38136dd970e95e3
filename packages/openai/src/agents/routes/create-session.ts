import { hash } from 'node:crypto'
import { codeOf, type StoredSession } from '@svc/contract'
import { RUN_ERR_KEY_REUSED } from '@svc/contract/errors'
import { beginSession, findSession, sendJson, SSE_HEADERS, streamSession, tieToClient } from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../../errors.ts'
import type { Surface } from '../../surface.ts'
import { SessionProjection } from '../projection/session-projection.ts'
import { SETTINGS, toAgentSession } from '../wire/agent-objects.ts'
import type { AgentSessionEvent } from '../wire/event-schemas.ts'
import { requireAgent } from './agent-routes.ts'
import { contextOf, readSession } from './read-session.ts'
import type { CreateSession } from './request-schemas.ts'
import { startTurn, toKey } from './send-events.ts'
import { requireServed, toSettings } from './session-settings.ts'

type CreateRequest = FastifyRequest<{ Body: CreateSession }>

/**
 * Creates a session, with its first turn if the request has an input; streams the events of that turn, or replies with the session.
 * A request that is sent again with the same `Idempotency-Key` gets the same session.
 * @throws OPENAI_ERR_*, and the errors of `RunEngine.start`
 */
export async function createSession(
  surface: Surface,
  request: CreateRequest,
  reply: FastifyReply
): Promise<unknown> {
  const { body, caller } = request
  const { input, stream } = body
  if (stream && (input === undefined || input === null))
    throw new OPENAI_ERR_BAD_REQUEST('input is required if stream is true')
  const key = toKey(request)
  const session = await beginOrFind(surface, request, key)
  const context = await contextOf(surface, session)
  if (input === undefined || input === null)
    return sendJson(surface.replies, reply, await readSession(surface, context, caller))
  const runId = await startTurn(surface, context, input, key ?? 'first', request)
  void reply.header('x-run-id', runId)
  if (!stream) return sendJson(surface.replies, reply, await readSession(surface, context, caller))
  const created: AgentSessionEvent = {
    type: 'agent.session.created',
    event_id: 'event_0',
    session: toAgentSession(session, context.settings, {
      status: 'idle',
      required: [],
      at: session.createdAt
    })
  }
  reply.headers(SSE_HEADERS)
  tieToClient(surface.replies, reply)
  return streamSession(surface, session, new SessionProjection(context, runId), {
    after: '0.0',
    head: `data: ${JSON.stringify(created)}\n\n`
  })
}

async function beginOrFind(
  surface: Surface,
  { body, caller }: CreateRequest,
  key: string | undefined
): Promise<StoredSession> {
  const { agent_id: agentId, agent = {}, environment, metadata } = body
  if (agentId === undefined)
    throw new OPENAI_ERR_BAD_REQUEST(
      'agent_id is required: agents are defined by the service, and cannot be given inline'
    )
  if (environment.type !== 'none') throw new OPENAI_ERR_UNSUPPORTED('environments other than "none"')
  requireServed(body, ['prompt_cache_options', 'review', 'spend_control', 'vault_ids'])
  const runnable = await requireAgent(surface, agentId, caller)
  const settings = { [SETTINGS]: toSettings(surface, agentId, runnable, agent) }
  const given = { settings, ...(metadata && { metadata }) }
  if (key === undefined) return beginSession(surface, runnable, 'sess_', given, caller)
  const sent = hash('sha256', JSON.stringify(body))
  const repeatable = { ...given, settings: { ...settings, 'openai-agents-request': sent } }
  const suffix = hash('sha256', JSON.stringify([caller.sub, key])).slice(0, 40)
  try {
    return await beginSession(surface, runnable, 'sess_', repeatable, caller, suffix)
  } catch (err) {
    if (codeOf(err) !== 'RUN_ERR_SESSION_EXISTS') throw err
  }
  const known = await findSession(surface, `sess_${suffix}`, caller)
  const kept = await surface.runs.sessions.settings(known)
  if (kept?.['openai-agents-request'] !== sent) throw new RUN_ERR_KEY_REUSED()
  return known
}
