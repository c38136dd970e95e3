import { Type } from '@sinclair/typebox'
import { defined, type SessionSettings, type StoredSession } from '@svc/contract'
import {
  beginSession,
  findSession,
  jsonReply,
  removeSession,
  requireCallerOptions,
  sendJson,
  type WireSurface
} from '@svc/surface'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requireAgent } from '../agents/agent-routes.ts'
import { requireEnvironment } from '../environments/environment-routes.ts'
import { ANTHROPIC_ERR_UNSUPPORTED } from '../errors.ts'
import { readMessage, sendMessages } from '../events/send-message.ts'
import { FAILURES } from '../wire/error-body.ts'
import { listSessions } from './list-sessions.ts'
import { readSettings, toClientTools, toSettings, type ManagedSettings } from './session-settings.ts'
import { toSessionObject, toWholeSession } from './session-object.ts'
import {
  NewSessionSchema,
  NoQuerySchema,
  SessionParamsSchema,
  SessionSchema,
  SessionsQuerySchema,
  SessionsSchema,
  SessionUpdateSchema,
  type AgentReference,
  type NewSession,
  type SessionParams,
  type SessionsQuery,
  type SessionUpdate
} from './session-schemas.ts'

const PREFIX = 'sesn_'
const session = { 200: jsonReply('The session', SessionSchema), ...FAILURES }
const DeletedSchema = Type.Object(
  { id: Type.String(), type: Type.Literal('session_deleted') },
  { title: 'DeletedSession' }
)
const describe = (operationId: string, summary: string) => ({
  operationId,
  tags: ['Sessions'],
  summary,
  querystring: NoQuerySchema
})

/** `/v1/sessions`: begin, list, read, change, archive and delete your own. */
export function sessionRoutes(scope: FastifyInstance, surface: WireSurface): void {
  const { replies, runs } = surface
  const { sessions } = runs
  const params = SessionParamsSchema

  const create = {
    ...describe('createSession', 'Begin a session with an agent'),
    body: NewSessionSchema,
    response: session
  }
  scope.post<{ Body: NewSession }>('/v1/sessions', { schema: create }, async (request, reply) =>
    sendJson(replies, reply, await createSession(surface, request))
  )

  const list = {
    ...describe('listSessions', 'Your own sessions, by their last change'),
    querystring: SessionsQuerySchema,
    response: { 200: jsonReply('One page of sessions', SessionsSchema), ...FAILURES }
  }
  scope.get<{ Querystring: SessionsQuery }>(
    '/v1/sessions',
    { schema: list, exposeHeadRoute: false },
    async ({ query, caller }, reply) => sendJson(replies, reply, await listSessions(surface, query, caller))
  )

  const get = { ...describe('getSession', 'A session'), params, response: session }
  scope.get<{ Params: SessionParams }>(
    '/v1/sessions/:session_id',
    { schema: get, exposeHeadRoute: false },
    async ({ params: { session_id: id }, caller }, reply) => {
      const stored = await findSession(surface, id, caller)
      return sendJson(replies, reply, await toWholeSession(surface, stored, caller))
    }
  )

  const update = {
    ...describe('updateSession', 'Change the title, the metadata or the tools of a session'),
    params,
    body: SessionUpdateSchema,
    response: session
  }
  scope.post<{ Params: SessionParams; Body: SessionUpdate }>(
    '/v1/sessions/:session_id',
    { schema: update },
    async ({ params: { session_id: id }, body, caller }, reply) => {
      const stored = await findSession(surface, id, caller)
      const changed = await updateSession(surface, stored, body)
      return sendJson(replies, reply, await toWholeSession(surface, changed, caller))
    }
  )

  const archive = {
    ...describe('archiveSession', 'Keep a session, and take no more events'),
    params,
    response: session
  }
  scope.post<{ Params: SessionParams }>(
    '/v1/sessions/:session_id/archive',
    { schema: archive },
    async ({ params: { session_id: id }, caller }, reply) => {
      const stored = await findSession(surface, id, caller)
      const earlier = await sessions.settings(stored)
      const own = readSettings(earlier)
      const archivedAt = own.archivedAt ?? new Date().toISOString()
      const changed = await sessions.update(stored, { settings: toSettings(earlier, { ...own, archivedAt }) })
      return sendJson(replies, reply, await toWholeSession(surface, changed, caller))
    }
  )

  const remove = {
    ...describe('deleteSession', 'Delete a session with all that was made of it'),
    params,
    response: { 200: jsonReply('Deleted', DeletedSchema), ...FAILURES }
  }
  scope.delete<{ Params: SessionParams }>(
    '/v1/sessions/:session_id',
    { schema: remove },
    async ({ params: { session_id: id }, caller }, reply) => {
      await removeSession(runs, await findSession(surface, id, caller))
      return sendJson(replies, reply, { id, type: 'session_deleted' })
    }
  )
}

/**
 * Begins a session, and sends its initial events: all of them, or there is no session.
 * @throws ANTHROPIC_ERR_UNSUPPORTED and the like, and the errors of `beginSession` and `RunEngine.start`
 */
async function createSession(surface: WireSurface, request: FastifyRequest<{ Body: NewSession }>) {
  const { body, caller } = request
  const {
    environment_id: environment,
    title,
    metadata,
    initial_events: events = [],
    vault_ids: vaults
  } = body
  requireEnvironment(environment)
  refuse('budget', body.budget)
  refuse('resources', body.resources)
  refuse('vault_ids', vaults)
  const { id, version, own } = readAgent(surface, body.agent)
  const runnable = await requireAgent(surface, id, caller, version)
  const inputs = events.map((event) => {
    if (event.type !== 'user.message') throw new ANTHROPIC_ERR_UNSUPPORTED('outcomes')
    return readMessage(event, runnable)
  })
  const fields = {
    ...defined({ title: title ?? undefined, metadata }),
    settings: toSettings(undefined, own)
  }
  const stored = await beginSession(surface, runnable, PREFIX, fields, caller)
  try {
    await sendMessages(surface, stored, own, inputs, request)
  } catch (err) {
    await removeSession(surface.runs, stored)
    throw err
  }
  const begun = inputs.length === 0 ? stored : await findSession(surface, stored.sessionId, caller)
  return toSessionObject(surface, begun, own)
}

interface ReadAgent {
  readonly id: string
  readonly version: number | undefined
  readonly own: ManagedSettings
}

/** @throws ANTHROPIC_ERR_UNSUPPORTED, ANTHROPIC_ERR_BAD_REQUEST, RUN_ERR_CLIENT_TOOLS, RUN_ERR_CLIENT_INSTRUCTIONS */
function readAgent(surface: WireSurface, agent: AgentReference): ReadAgent {
  if (typeof agent === 'string') return { id: agent, version: undefined, own: {} }
  const { id, version } = agent
  if (agent.type === 'agent') return { id, version, own: {} }
  refuse('agent.model', agent.model)
  refuse('agent.mcp_servers', agent.mcp_servers)
  refuse('agent.skills', agent.skills)
  if (agent.system === null) throw new ANTHROPIC_ERR_UNSUPPORTED('clearing the system prompt of an agent')
  const instructions = agent.system === '' ? undefined : agent.system
  requireCallerOptions(surface, { instructions })
  return { id, version, own: defined({ tools: toClientTools(surface, agent.tools), instructions }) }
}

/** Refuses what is not served; an empty list asks for nothing. @throws ANTHROPIC_ERR_UNSUPPORTED */
export function refuse(name: string, given: unknown): void {
  if (given === undefined || given === null || (Array.isArray(given) && given.length === 0)) return
  throw new ANTHROPIC_ERR_UNSUPPORTED(name)
}

async function updateSession(
  surface: WireSurface,
  stored: StoredSession,
  { title, metadata, agent, budget, vault_ids: vaults }: SessionUpdate
): Promise<StoredSession> {
  refuse('budget', budget)
  refuse('vault_ids', vaults)
  refuse('agent.mcp_servers', agent?.mcp_servers)
  const { sessions } = surface.runs
  let settings: SessionSettings | undefined
  if (agent?.tools !== undefined) {
    const earlier = await sessions.settings(stored)
    const { tools: _, ...own } = readSettings(earlier)
    settings = toSettings(earlier, { ...own, ...defined({ tools: toClientTools(surface, agent.tools) }) })
  }
  return sessions.update(stored, defined({ title, metadata: patch(stored, metadata), settings }))
}

// Null removes a text.
function patch({ metadata: earlier }: StoredSession, change: SessionUpdate['metadata']) {
  if (change === undefined) return undefined
  if (change === null) return null
  const all = Object.entries({ ...earlier, ...change }).filter(
    (entry): entry is [string, string] => entry[1] !== null
  )
  return all.length === 0 ? null : Object.fromEntries(all)
}
