import {
  ownerOfSessions,
  readRunnableId,
  removeSession,
  requireKept,
  findSession,
  sendJson,
  toRunnableId
} from '@svc/surface'
import type { StoredSession } from '@svc/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { OPENAI_ERR_BAD_CURSOR, OPENAI_ERR_BAD_REQUEST } from '../../errors.ts'
import type { Surface } from '../../surface.ts'
import { SETTINGS } from '../wire/agent-objects.ts'
import type { AgentSession } from '../wire/agent-schemas.ts'
import { requireAgent } from './agent-routes.ts'
import { createSession } from './create-session.ts'
import { toPage, toPageQuery } from './pages.ts'
import { contextOf, readListed, readSession, requireContext } from './read-session.ts'
import {
  CreateSessionSchema,
  REPLIES,
  SessionParamsSchema,
  SessionsQuerySchema,
  UpdateSessionSchema,
  type CreateSession,
  type PageQuery,
  type UpdateSession
} from './request-schemas.ts'
import { KEPT, requireServed, toSettings } from './session-settings.ts'

const tags = ['Sessions']
const describe = (operationId: string, summary: string) => ({ operationId, tags, summary })
const params = SessionParamsSchema
type OfSession = { Params: { session_id: string } }
type ListQuery = PageQuery & { agent_id?: string }

// Sessions that a list with a filter reads at once, and looks at for one page.
const SCANNED = 1_000
const MAX_SCANNED = 20_000

/** Create, read, change, list and delete sessions. */
export function sessionRoutes(scope: FastifyInstance, surface: Surface): void {
  const { runs, replies } = surface
  const create = {
    ...describe('createSession', 'Begin a session with an agent, a team or a workflow'),
    body: CreateSessionSchema,
    response: REPLIES.created
  }
  scope.post<{ Body: CreateSession }>('/agents/sessions', { schema: create }, (request, reply) =>
    createSession(surface, request, reply)
  )

  const list = {
    ...describe('listSessions', 'Your own sessions, by their last change'),
    querystring: SessionsQuerySchema,
    response: REPLIES.sessions
  }
  scope.get<{ Querystring: ListQuery }>(
    '/agents/sessions',
    { schema: list, exposeHeadRoute: false },
    async (request, reply) => sendJson(replies, reply, await listSessions(surface, request))
  )

  const retrieve = { ...describe('getSession', 'A session as it is now'), params, response: REPLIES.session }
  scope.get<OfSession>(
    '/agents/sessions/:session_id',
    { schema: retrieve, exposeHeadRoute: false },
    async ({ params: { session_id: id }, caller }, reply) => {
      const context = await requireContext(surface, id, caller)
      return sendJson(replies, reply, await readSession(surface, context, caller))
    }
  )

  const update = {
    ...describe('updateSession', 'Change the metadata or the tools of a session'),
    params,
    body: UpdateSessionSchema,
    response: REPLIES.session
  }
  scope.post<OfSession & { Body: UpdateSession }>(
    '/agents/sessions/:session_id',
    { schema: update },
    async (request, reply) => {
      const session = await updateSession(surface, request)
      const context = await contextOf(surface, session)
      return sendJson(replies, reply, await readSession(surface, context, request.caller))
    }
  )

  const remove = {
    ...describe('deleteSession', 'Delete a session with all that was made of it'),
    params,
    response: REPLIES.deleted
  }
  scope.delete<OfSession>(
    '/agents/sessions/:session_id',
    { schema: remove },
    async ({ params: { session_id: id }, caller }) => {
      await removeSession(runs, await findSession(surface, id, caller))
      return { id, object: 'agent.session.deleted', deleted: true }
    }
  )
}

/** @throws OPENAI_ERR_UNSUPPORTED, RUN_ERR_SESSION_NOT_FOUND, and the errors of settings */
async function updateSession(
  surface: Surface,
  { params: { session_id: id }, body, caller }: FastifyRequest<OfSession & { Body: UpdateSession }>
): Promise<StoredSession> {
  requireServed(body, ['prompt_cache_options', 'review', 'spend_control'])
  const { session, settings: before } = await requireContext(surface, id, caller)
  const { agent, metadata } = body
  if (agent === undefined && metadata === undefined) return session
  const { sessions } = surface.runs
  const agentId = toRunnableId(session.kind, session.name)
  const settings = agent && {
    ...(await sessions.settings(session)),
    [SETTINGS]: toSettings(surface, agentId, await requireAgent(surface, agentId, caller), agent, before)
  }
  if (settings !== undefined) requireKept(settings, KEPT, OPENAI_ERR_BAD_REQUEST)
  const isCleared = metadata === null || (metadata !== undefined && Object.keys(metadata).length === 0)
  return sessions.update(session, {
    ...(settings !== undefined && { settings }),
    ...(metadata !== undefined && { metadata: isCleared ? null : metadata })
  })
}

/** @throws OPENAI_ERR_UNSUPPORTED, OPENAI_ERR_BAD_CURSOR, RUN_ERR_STORE */
async function listSessions(
  surface: Surface,
  { query, raw, caller }: FastifyRequest<{ Querystring: ListQuery }>
) {
  const { after, limit, order } = toPageQuery(query)
  const { sessions } = surface.runs
  const owner = ownerOfSessions(surface, caller, undefined)
  const runnable = query.agent_id === undefined ? {} : readRunnableId(query.agent_id)
  const wanted = metadataOf(raw.url ?? '')
  const matches = ({ metadata }: StoredSession) =>
    wanted.every(([name, value]) => metadata !== null && metadata[name] === value)
  let cursor = after === undefined ? undefined : await cursorAfter(surface, after, caller)
  const found: StoredSession[] = []
  const size = wanted.length === 0 ? limit + 1 : SCANNED
  for (let scanned = 0; found.length <= limit && scanned < MAX_SCANNED; scanned += size) {
    const page = await sessions.list({
      owner,
      scope: surface.exposed.scope(),
      ...runnable,
      limit: size,
      order,
      ...(cursor !== undefined && { cursor })
    })
    found.push(...page.sessions.filter(matches))
    if (page.nextCursor === null) break
    cursor = page.nextCursor
  }
  const items: AgentSession[] = []
  for (const session of found.slice(0, limit))
    items.push(await readListed(surface, await contextOf(surface, session), caller))
  return toPage({ items, hasMore: found.length > limit }, after)
}

async function cursorAfter(surface: Surface, sessionId: string, caller: FastifyRequest['caller']) {
  try {
    return await surface.runs.sessions.cursorAfter(await findSession(surface, sessionId, caller))
  } catch (err) {
    throw (err as { code?: unknown }).code === 'RUN_ERR_SESSION_NOT_FOUND'
      ? new OPENAI_ERR_BAD_CURSOR(sessionId)
      : err
  }
}

// `metadata[key]=value`, any number of them.
function metadataOf(url: string): [name: string, value: string][] {
  const { searchParams } = new URL(url, 'http://localhost')
  return [...searchParams].flatMap(([name, value]) => {
    const [, key] = /^metadata\[(.*)\]$/s.exec(name) ?? []
    return key === undefined ? [] : [[key, value] as [string, string]]
  })
}
