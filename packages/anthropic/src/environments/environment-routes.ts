import { Type } from '@sinclair/typebox'
import { jsonReply, sendJson, type WireSurface } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { SINCE } from '../agents/agent-object.ts'
import { ANTHROPIC_ERR_UNKNOWN_ENVIRONMENT } from '../errors.ts'
import { FAILURES } from '../wire/error-body.ts'
import { listQueryOf, pageOf, queryOf, readCursor } from '../wire/lists.ts'

/** The id of the environment of every session: the service itself. */
export const ENVIRONMENT = 'env_service'

const EnvironmentSchema = Type.Object(
  {
    id: Type.Literal(ENVIRONMENT),
    type: Type.Literal('environment'),
    name: Type.String(),
    description: Type.String(),
    config: Type.Object({ type: Type.Literal('self_hosted') }),
    metadata: Type.Object({}),
    archived_at: Type.Null(),
    created_at: Type.String({ format: 'date-time' }),
    updated_at: Type.String({ format: 'date-time' })
  },
  { title: 'Environment' }
)
const environment = {
  id: ENVIRONMENT,
  type: 'environment',
  name: 'service',
  description: 'The service itself: its agents bring their own tools',
  config: { type: 'self_hosted' },
  metadata: {},
  archived_at: null,
  created_at: SINCE,
  updated_at: SINCE
}

/** `/v1/environments`: there is one. */
export function environmentRoutes(scope: FastifyInstance, { replies }: WireSurface): void {
  const list = {
    operationId: 'listEnvironments',
    tags: ['Environments'],
    summary: 'Where sessions run: there is one environment',
    querystring: listQueryOf({ include_archived: Type.Optional(Type.String()) }),
    response: {
      200: jsonReply('The environments', pageOf(EnvironmentSchema, 'Environments')),
      ...FAILURES
    }
  }
  scope.get<{ Querystring: { page?: string } }>(
    '/v1/environments',
    { schema: list, exposeHeadRoute: false },
    async ({ query }, reply) => {
      readCursor(['environments'], query.page, (value): value is never => value === undefined)
      return sendJson(replies, reply, { data: [environment], next_page: null })
    }
  )

  const get = {
    operationId: 'getEnvironment',
    tags: ['Environments'],
    summary: 'An environment',
    params: Type.Object({ environment_id: Type.String() }),
    querystring: queryOf({}),
    response: { 200: jsonReply('The environment', EnvironmentSchema), ...FAILURES }
  }
  scope.get<{ Params: { environment_id: string } }>(
    '/v1/environments/:environment_id',
    { schema: get, exposeHeadRoute: false },
    async ({ params }, reply) => {
      requireEnvironment(params.environment_id)
      return sendJson(replies, reply, environment)
    }
  )
}

/** @throws ANTHROPIC_ERR_UNKNOWN_ENVIRONMENT */
export function requireEnvironment(id: string): void {
  if (id !== ENVIRONMENT) throw new ANTHROPIC_ERR_UNKNOWN_ENVIRONMENT(id)
}
