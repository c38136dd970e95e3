import { hash } from 'node:crypto'
import { codeOf, ZERO_USAGE, type Runnable, type StoredSession } from '@svc/contract'
import { RUN_ERR_KEY_REUSED } from '@svc/contract/errors'
import {
  beginSession,
  findSession,
  removeSession,
  requireKept,
  sendJson,
  SSE_HEADERS,
  streamSession,
  tieToClient
} from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../../errors.ts'
import type { Surface } from '../../surface.ts'
import { SessionProjection } from '../projection/session-projection.ts'
import type { TurnContext } from '../projection/turn-projection.ts'
import { SETTINGS, toAgentSession } from '../wire/agent-objects.ts'
import type { AgentSession } from '../wire/agent-schemas.ts'
import type { AgentSessionEvent } from '../wire/event-schemas.ts'
import { requireAgent } from './agent-routes.ts'
import { readSession, toContext } from './read-session.ts'
import type { CreateSession } from './request-schemas.ts'
import { startTurn, toKey } from './send-events.ts'
import { KEPT, requireServed, toSettings } from './session-settings.ts'

type CreateRequest = FastifyRequest<{ Body: CreateSession }>

/** A session that a request has created, or that the same request created before. */
interface Begun {
  readonly context: TurnContext
  readonly runnable: Runnable
  readonly isNew: boolean
}

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
  const begun = await beginOrFind(surface, request, key)
  const { context, isNew } = begun
  if (input === undefined || input === null)
    return sendJson(
      surface.replies,
      reply,
      isNew ? asCreated(context) : await readSession(surface, context, caller)
    )
  const runId = await startFirstTurn(surface, begun, input, key, request)
  void reply.header('x-run-id', runId)
  if (!stream) return sendJson(surface.replies, reply, await readSession(surface, context, caller))
  const created: AgentSessionEvent = {
    type: 'agent.session.created',
    event_id: 'event_0',
    session: asCreated(context)
  }
  const events = await streamSession(surface, context.session, new SessionProjection(context, runId), {
    ...(isNew ? { runId } : { after: '0.0' }),
    head: `data: ${JSON.stringify(created)}\n\n`
  })
  reply.headers(SSE_HEADERS)
  tieToClient(surface.replies, reply)
  return events
}

function asCreated({ session, settings }: TurnContext): AgentSession {
  return toAgentSession(session, settings, {
    status: 'idle',
    required: [],
    at: session.createdAt,
    usage: ZERO_USAGE
  })
}

// A session that nobody knows of is removed where its first turn is refused; one with a key is that of the repeated request.
async function startFirstTurn(
  surface: Surface,
  { context, runnable, isNew }: Begun,
  input: NonNullable<CreateSession['input']>,
  key: string | undefined,
  request: CreateRequest
): Promise<string> {
  try {
    return await startTurn(surface, context, input, { key, whenBusy: 'queue', allowed: runnable }, request)
  } catch (err) {
    if (isNew && key === undefined) await removeSession(surface.runs, context.session)
    throw err
  }
}

async function beginOrFind(
  surface: Surface,
  { body, caller }: CreateRequest,
  key: string | undefined
): Promise<Begun> {
  const { agent_id: agentId, agent = {}, environment, metadata } = body
  if (agentId === undefined)
    throw new OPENAI_ERR_BAD_REQUEST(
      'agent_id is required: agents are defined by the service, and cannot be given inline'
    )
  if (environment.type !== 'none') throw new OPENAI_ERR_UNSUPPORTED('environments other than "none"')
  requireServed(body, ['prompt_cache_options', 'review', 'spend_control', 'vault_ids'])
  const runnable = await requireAgent(surface, agentId, caller)
  const settings = toSettings(surface, agentId, runnable, agent)
  requireKept({ [SETTINGS]: settings }, KEPT, OPENAI_ERR_BAD_REQUEST)
  const given = { settings: { [SETTINGS]: settings }, ...(metadata && { metadata }) }
  const begun = (session: StoredSession): Begun => ({
    context: { session, settings, toolCalls: surface.toolCalls },
    runnable,
    isNew: true
  })
  if (key === undefined) return begun(await beginSession(surface, runnable, 'sess_', given, caller))
  const sent = hash('sha256', JSON.stringify(body))
  const repeatable = { ...given, settings: { ...given.settings, 'openai-agents-request': sent } }
  const suffix = hash('sha256', JSON.stringify([caller.sub, key])).slice(0, 40)
  try {
    return begun(await beginSession(surface, runnable, 'sess_', repeatable, caller, suffix))
  } catch (err) {
    if (codeOf(err) !== 'RUN_ERR_SESSION_EXISTS') throw err
  }
  const known = await findSession(surface, `sess_${suffix}`, caller)
  const kept = await surface.runs.sessions.settings(known)
  if (kept?.['openai-agents-request'] !== sent) throw new RUN_ERR_KEY_REUSED()
  return { context: toContext(surface, known, kept), runnable, isNew: false }
}
