import { Type, type Static } from '@sinclair/typebox'
import type { Principal, Runnable } from '@svc/contract'
import { jsonReply, mayRun, readRunnableId, requireExposed, sendJson, type WireSurface } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { ANTHROPIC_ERR_UNKNOWN_AGENT, ANTHROPIC_ERR_UNKNOWN_VERSION } from '../errors.ts'
import { FAILURES } from '../wire/error-body.ts'
import {
  CREATED,
  DEFAULT_LIMIT,
  isCreatedWithin,
  listQueryOf,
  pageOf,
  queryOf,
  readCursor,
  toCursor,
  type Page
} from '../wire/lists.ts'
import { AgentSchema, SINCE, toAgent, VERSION, type Agent } from './agent-object.ts'

const AgentParamsSchema = Type.Object({ agent_id: Type.String() })
const AgentQuerySchema = queryOf({ version: Type.Optional(Type.Integer()) })
const AgentsQuerySchema = listQueryOf({ ...CREATED, include_archived: Type.Optional(Type.String()) })
const VersionsQuerySchema = listQueryOf({})
const AgentsSchema = pageOf(AgentSchema, 'Agents')
const page = jsonReply('One page of agents', AgentsSchema)

type AgentParams = Static<typeof AgentParamsSchema>

/** `/v1/agents`: the exposed runnables that the caller may run. */
export function agentRoutes(scope: FastifyInstance, surface: WireSurface): void {
  const { replies } = surface
  const list = {
    operationId: 'listAgents',
    tags: ['Agents'],
    summary: 'What the caller can hold sessions with',
    querystring: AgentsQuerySchema,
    response: { 200: page, ...FAILURES }
  }
  scope.get<{ Querystring: Static<typeof AgentsQuerySchema> }>(
    '/v1/agents',
    { schema: list, exposeHeadRoute: false },
    async ({ query, caller }, reply) => {
      const isListed = isCreatedWithin(Date.parse(SINCE), query)
      return sendJson(replies, reply, isListed ? await listAgents(surface, caller, query) : NO_AGENTS)
    }
  )

  const get = {
    operationId: 'getAgent',
    tags: ['Agents'],
    summary: 'An agent',
    params: AgentParamsSchema,
    querystring: AgentQuerySchema,
    response: { 200: jsonReply('The agent', AgentSchema), ...FAILURES }
  }
  scope.get<{ Params: AgentParams; Querystring: Static<typeof AgentQuerySchema> }>(
    '/v1/agents/:agent_id',
    { schema: get, exposeHeadRoute: false },
    async ({ params, query, caller }, reply) => {
      const runnable = await requireAgent(surface, params.agent_id, caller, query.version)
      return sendJson(replies, reply, toAgent(runnable))
    }
  )

  const versions = {
    operationId: 'listAgentVersions',
    tags: ['Agents'],
    summary: 'The versions of an agent: there is one',
    params: AgentParamsSchema,
    querystring: VersionsQuerySchema,
    response: { 200: page, ...FAILURES }
  }
  scope.get<{ Params: AgentParams; Querystring: Static<typeof VersionsQuerySchema> }>(
    '/v1/agents/:agent_id/versions',
    { schema: versions, exposeHeadRoute: false },
    async ({ params, query, caller }, reply) => {
      readCursor(['versions'], query.page, isNoPlace)
      const runnable = await requireAgent(surface, params.agent_id, caller)
      return sendJson(replies, reply, { data: [toAgent(runnable)], next_page: null })
    }
  )
}

const NO_AGENTS: Page<Agent> = { data: [], next_page: null }
const isNoPlace = (value: unknown): value is never => value === undefined

async function listAgents(
  surface: WireSurface,
  caller: Principal,
  { limit = DEFAULT_LIMIT, page: given }: Static<typeof AgentsQuerySchema>
): Promise<Page<Agent>> {
  const after = readCursor(['agents'], given, (value) => typeof value === 'string')
  const data: Agent[] = []
  let isAfter = after === undefined
  let next: string | null = null
  for (const runnable of surface.exposed.list()) {
    const key = `${runnable.kind}/${runnable.name}`
    if (!isAfter) {
      isAfter = key === after
      continue
    }
    if (!(await mayRun(surface, caller, runnable))) continue
    if (data.length === limit) {
      const last = data.at(-1)!
      const { kind, name } = readRunnableId(last.id)
      next = toCursor(['agents'], `${kind}/${name}`)
      break
    }
    data.push(toAgent(runnable))
  }
  return { data, next_page: next }
}

/**
 * The runnable with an id, if the caller may run it.
 * @throws ANTHROPIC_ERR_UNKNOWN_AGENT, ANTHROPIC_ERR_UNKNOWN_VERSION
 */
export async function requireAgent(
  surface: WireSurface,
  id: string,
  caller: Principal,
  version: number = VERSION
): Promise<Runnable> {
  const { kind, name } = readRunnableId(id)
  if (!(await mayRun(surface, caller, { kind, name }))) throw new ANTHROPIC_ERR_UNKNOWN_AGENT(id)
  const runnable = await requireExposed(surface, kind, name)
  if (version !== VERSION) throw new ANTHROPIC_ERR_UNKNOWN_VERSION(String(version), id)
  return runnable
}
