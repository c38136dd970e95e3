import { Type, type Static } from '@sinclair/typebox'
import { IdSchema, type Principal } from '@svc/contract'
import { RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import { findScheduledRun, jsonReply, listScheduledRuns, sendJson, type WireSurface } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { FAILURES } from '../wire/error-body.ts'
import {
  CREATED,
  DEFAULT_LIMIT,
  isCreatedWithin,
  listQueryOf,
  pageOf,
  queryOf,
  readCursor,
  toCursor
} from '../wire/lists.ts'
import {
  DeploymentRunSchema,
  hasNoSession,
  isDecided,
  isOfDeployment,
  toDeploymentRun,
  type DeploymentRun
} from './deployment-object.ts'
import { requireKept } from './deployment-routes.ts'

const ParamsSchema = Type.Object({ deployment_run_id: IdSchema })
const QuerySchema = listQueryOf({
  ...CREATED,
  deployment_id: Type.Optional(Type.String({ maxLength: 512 })),
  has_error: Type.Optional(Type.Union([Type.Literal('true'), Type.Literal('false')])),
  trigger_type: Type.Optional(Type.Union([Type.Literal('schedule'), Type.Literal('manual')]))
})
type Query = Static<typeof QuerySchema>
const describe = (operationId: string, summary: string) => ({ operationId, tags: ['Deployments'], summary })

/** `/v1/deployment_runs`: what the deployments of the caller have begun, as long as the runs are kept. */
export function deploymentRunRoutes(scope: FastifyInstance, surface: WireSurface): void {
  const { replies } = surface
  const kept = requireKept(surface)

  const list = {
    ...describe('listDeploymentRuns', 'Runs of your own deployments, newest first'),
    querystring: QuerySchema,
    response: {
      200: jsonReply('One page of runs', pageOf(DeploymentRunSchema, 'DeploymentRuns')),
      ...FAILURES
    }
  }
  scope.get<{ Querystring: Query }>(
    '/v1/deployment_runs',
    { schema: list, exposeHeadRoute: false, ...kept },
    async ({ query, caller }, reply) =>
      sendJson(replies, reply, await listDeploymentRuns(surface, query, caller))
  )

  const get = {
    ...describe('getDeploymentRun', 'A run of a deployment'),
    params: ParamsSchema,
    querystring: queryOf({}),
    response: { 200: jsonReply('The run', DeploymentRunSchema), ...FAILURES }
  }
  scope.get<{ Params: Static<typeof ParamsSchema> }>(
    '/v1/deployment_runs/:deployment_run_id',
    { schema: get, exposeHeadRoute: false, ...kept },
    async ({ params: { deployment_run_id: id }, caller }, reply) => {
      const found = await findScheduledRun(surface, id, caller)
      const isShown = isDecided(found) && (await isOfDeployment(surface, found.scheduleId))
      if (!isShown) throw new RUN_ERR_NOT_FOUND(id)
      return sendJson(replies, reply, toDeploymentRun(found))
    }
  )
}

/** @throws ANTHROPIC_ERR_BAD_PAGE, RUN_ERR_STORE */
async function listDeploymentRuns(
  surface: WireSurface,
  { limit = DEFAULT_LIMIT, page, beta: _, ...filter }: Query,
  caller: Principal
): Promise<{ data: DeploymentRun[]; next_page: string | null }> {
  const { deployment_id: scheduleId, has_error: wantsError, trigger_type: trigger } = filter
  const list = ['deployment runs', filter]
  const known = new Map<string, Promise<boolean>>()
  // Reads each schedule once.
  const isShown = (id: string) => {
    const found = known.get(id) ?? isOfDeployment(surface, id)
    known.set(id, found)
    return found
  }
  const { items, next } = await listScheduledRuns(surface, caller, {
    scheduleId,
    limit,
    cursor: readCursor(list, page, (value) => typeof value === 'string'),
    shows(each) {
      if (!isDecided(each) || !isCreatedWithin(each.run.createdAt, filter)) return false
      if (wantsError !== undefined && (wantsError === 'true') !== hasNoSession(each)) return false
      if (trigger !== undefined && (trigger === 'manual') !== (each.instant === undefined)) return false
      return isShown(each.scheduleId)
    }
  })
  return { data: items.map(toDeploymentRun), next_page: next === null ? null : toCursor(list, next) }
}
