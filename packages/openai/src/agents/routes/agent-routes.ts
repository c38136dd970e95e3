import type { Principal } from '@svc/contract'
import { mayRun, readRunnableId, toRunnableId } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { OPENAI_ERR_READ_ONLY, OPENAI_ERR_UNKNOWN_MODEL } from '../../errors.ts'
import type { Surface } from '../../surface.ts'
import type { AgentObject } from '../wire/agent-schemas.ts'
import { toAgent } from '../wire/agent-objects.ts'
import { pageOf } from './pages.ts'
import { AgentParamsSchema, PageQuerySchema, REPLIES, type PageQuery } from './request-schemas.ts'

const tags = ['Agents']

/** The exposed runnables that the caller may run, as agents. */
export function agentRoutes(scope: FastifyInstance, surface: Surface): void {
  const list = {
    operationId: 'listAgents',
    tags,
    summary: 'What the caller can ask',
    querystring: PageQuerySchema,
    response: REPLIES.agents
  }
  scope.get<{ Querystring: PageQuery }>(
    '/agents',
    { schema: list, exposeHeadRoute: false },
    async ({ caller, query }) => {
      const agents: AgentObject[] = []
      for (const { kind, name } of surface.exposed.list())
        if (await mayRun(surface, caller, { kind, name })) agents.push(toAgent(kind, name))
      return pageOf(agents.toReversed(), query)
    }
  )
  const get = {
    operationId: 'getAgent',
    tags,
    summary: 'An agent, a team or a workflow',
    params: AgentParamsSchema,
    response: REPLIES.agent
  }
  scope.get<{ Params: { agent_id: string } }>(
    '/agents/:agent_id',
    { schema: get, exposeHeadRoute: false },
    async ({ caller, params }) => {
      const { kind, name } = await requireAgent(surface, params.agent_id, caller)
      return toAgent(kind, name)
    }
  )
  const change = (operationId: string) => ({
    operationId,
    tags,
    summary: 'Refused: agents are defined by the service',
    response: REPLIES.refused
  })
  const ofAgent = (operationId: string) => ({ ...change(operationId), params: AgentParamsSchema })
  scope.post('/agents', { schema: change('createAgent') }, refuse)
  scope.post('/agents/:agent_id', { schema: ofAgent('updateAgent') }, refuse)
  scope.delete('/agents/:agent_id', { schema: ofAgent('deleteAgent') }, refuse)
}

function refuse(): never {
  throw new OPENAI_ERR_READ_ONLY()
}

/** The runnable of an agent that the caller may run. @throws OPENAI_ERR_UNKNOWN_MODEL */
export async function requireAgent(surface: Surface, agentId: string, caller: Principal) {
  const { kind, name } = readRunnableId(agentId)
  const runnable = await surface.exposed.find(kind, name)
  if (runnable === undefined || !(await mayRun(surface, caller, { kind, name })))
    throw new OPENAI_ERR_UNKNOWN_MODEL(toRunnableId(kind, name))
  return runnable
}
