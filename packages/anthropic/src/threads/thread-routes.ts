import { Type, type Static } from '@sinclair/typebox'
import type { Principal, StoredSession } from '@svc/contract'
import {
  findSession,
  findTurn,
  jsonReply,
  partsOf,
  reserveLargest,
  sendJson,
  toRunnableId,
  type Admit,
  type SessionTurn,
  type WireSurface
} from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { ThreadAgentSchema, toThreadAgent } from '../agents/agent-object.ts'
import { ANTHROPIC_ERR_UNKNOWN_THREAD } from '../errors.ts'
import { ThreadParamsSchema, type ThreadParams } from '../events/event-schemas.ts'
import { listOfTurns } from '../events/list-events.ts'
import { RunEvents } from '../projection/run-events.ts'
import type { Thread } from '../projection/threads.ts'
import {
  NoQuerySchema,
  SessionParamsSchema,
  StatusSchema,
  UsageSchema,
  type SessionParams
} from '../sessions/session-schemas.ts'
import { statusOf, toUsage } from '../sessions/session-object.ts'
import { FAILURES } from '../wire/error-body.ts'
import { DEFAULT_LIMIT, listQueryOf, pageOf, repeated, toCursor, valuesOf, type Page } from '../wire/lists.ts'
import { primaryThreadOf, runOfThread } from './thread-ids.ts'

const time = Type.String({ format: 'date-time' })
const ThreadSchema = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('session_thread'),
    session_id: Type.String(),
    parent_thread_id: Type.Union([Type.String(), Type.Null()]),
    workflow_run_id: Type.Null(),
    agent: ThreadAgentSchema,
    status: StatusSchema,
    created_at: time,
    updated_at: time,
    archived_at: Type.Null(),
    stats: Type.Null(),
    usage: Type.Union([UsageSchema, Type.Null()])
  },
  { title: 'SessionThread' }
)
type ThreadObject = Static<typeof ThreadSchema>
const ThreadsQuerySchema = listQueryOf({
  statuses: repeated(StatusSchema),
  'statuses[]': repeated(StatusSchema)
})
type ThreadsQuery = Static<typeof ThreadsQuerySchema>

/** The threads of a session: its own, and one for each call of a member or a step. */
export function threadRoutes(scope: FastifyInstance, surface: WireSurface): void {
  const { replies } = surface
  const list = {
    operationId: 'listThreads',
    tags: ['Threads'],
    summary: 'The threads of a session, oldest first',
    params: SessionParamsSchema,
    querystring: ThreadsQuerySchema,
    response: { 200: jsonReply('One page of threads', pageOf(ThreadSchema, 'SessionThreads')), ...FAILURES }
  }
  scope.get<{ Params: SessionParams; Querystring: ThreadsQuery }>(
    '/v1/sessions/:session_id/threads',
    { schema: list, exposeHeadRoute: false },
    async ({ params, query, caller }, reply) => {
      const session = await findSession(surface, params.session_id, caller)
      const admit = reserveLargest(reply.raw, caller.sub)
      return sendJson(replies, reply, await listThreads(surface, session, query, caller, admit))
    }
  )

  const get = {
    operationId: 'getThread',
    tags: ['Threads'],
    summary: 'A thread of a session',
    params: ThreadParamsSchema,
    querystring: NoQuerySchema,
    response: { 200: jsonReply('The thread', ThreadSchema), ...FAILURES }
  }
  scope.get<{ Params: ThreadParams }>(
    '/v1/sessions/:session_id/threads/:thread_id',
    { schema: get, exposeHeadRoute: false },
    async ({ params: { session_id: id, thread_id: threadId }, caller }, reply) => {
      const session = await findSession(surface, id, caller)
      const turn = await requireThread(surface, session, threadId, caller)
      const found =
        turn === undefined
          ? await toPrimary(surface, session)
          : (await threadsOfTurn(surface, session, turn)).find((each) => each.id === threadId)
      if (found === undefined) throw new ANTHROPIC_ERR_UNKNOWN_THREAD(threadId)
      return sendJson(replies, reply, found)
    }
  )
}

/**
 * The turn that a thread belongs to; undefined for the primary thread.
 * @throws ANTHROPIC_ERR_UNKNOWN_THREAD, RUN_ERR_STORE
 */
export async function requireThread(
  surface: WireSurface,
  session: StoredSession,
  threadId: string,
  caller: Principal
): Promise<SessionTurn | undefined> {
  if (threadId === primaryThreadOf(session)) return undefined
  const runId = runOfThread(threadId)
  const turn = runId === undefined ? undefined : await findTurn(surface, session, runId, caller)
  if (turn === undefined) throw new ANTHROPIC_ERR_UNKNOWN_THREAD(threadId)
  return turn
}

async function listThreads(
  surface: WireSurface,
  session: StoredSession,
  { limit = DEFAULT_LIMIT, page, ...filter }: ThreadsQuery,
  caller: Principal,
  admit: Admit
): Promise<Page<ThreadObject>> {
  const statuses = valuesOf(filter.statuses, filter['statuses[]'])
  const isListed = ({ status }: ThreadObject) => statuses === undefined || statuses.includes(status)
  const primary = await toPrimary(surface, session)
  const isFirst = page === undefined && isListed(primary)
  const list = ['threads', session.sessionId, statuses ?? null]
  if (isFirst && limit === 1)
    return { data: [primary], next_page: toCursor(list, { runId: '', id: primary.id }) }
  const rest = await listOfTurns(surface, session, caller, {
    list,
    order: 'asc',
    limit: isFirst ? limit - 1 : limit,
    page,
    admit,
    read: async (turn) => (await threadsOfTurn(surface, session, turn)).filter(isListed)
  })
  return isFirst ? { ...rest, data: [primary, ...rest.data] } : rest
}

async function threadsOfTurn(
  surface: WireSurface,
  session: StoredSession,
  { runId }: SessionTurn
): Promise<ThreadObject[]> {
  const events = new RunEvents()
  for await (const part of partsOf(surface, session, runId)) events.add(part)
  return events.threads.map((thread) => toThread(session, thread))
}

function toThread(session: StoredSession, thread: Thread): ThreadObject {
  const { id, parent, name, createdAt, updatedAt, isRunning, usage } = thread
  return {
    ...toCommon(session, id),
    parent_thread_id: parent?.id ?? primaryThreadOf(session),
    agent: toThreadAgent(name),
    status: isRunning ? 'running' : 'idle',
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    usage: toUsage(usage)
  }
}

async function toPrimary(surface: WireSurface, session: StoredSession): Promise<ThreadObject> {
  const { kind, name, createdAt, updatedAt } = session
  return {
    ...toCommon(session, primaryThreadOf(session)),
    parent_thread_id: null,
    agent: toThreadAgent(toRunnableId(kind, name), name),
    status: await statusOf(surface, session),
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
    usage: null
  }
}

function toCommon({ sessionId }: StoredSession, id: string) {
  return {
    id,
    type: 'session_thread',
    session_id: sessionId,
    workflow_run_id: null,
    archived_at: null,
    stats: null
  } as const
}
