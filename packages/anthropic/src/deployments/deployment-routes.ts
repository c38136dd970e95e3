import { Type, type Static } from '@sinclair/typebox'
import {
  defined,
  IdSchema,
  type Principal,
  type RunInput,
  type RunMetadata,
  type Runnable
} from '@svc/contract'
import { RUN_ERR_SCHEDULE_NOT_FOUND } from '@svc/contract/errors'
import {
  createSchedule,
  findSchedule,
  isFiveFields,
  jsonReply,
  listSchedules,
  readRunnableId,
  relabel,
  runSchedule,
  sendJson,
  toRunnableId,
  type OwnedSchedule,
  type WireSurface
} from '@svc/surface'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requireAgent } from '../agents/agent-routes.ts'
import { requireEnvironment } from '../environments/environment-routes.ts'
import {
  ANTHROPIC_ERR_BAD_REQUEST,
  ANTHROPIC_ERR_DEPLOYMENT_ARCHIVED,
  ANTHROPIC_ERR_UNSUPPORTED
} from '../errors.ts'
import { readMessage, withoutToken } from '../events/send-message.ts'
import { refuse } from '../sessions/session-routes.ts'
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
  DeploymentSchema,
  DeploymentUpdateSchema,
  isDeployment,
  NewDeploymentSchema,
  toDeployment,
  toDeploymentRun,
  type Deployment,
  type DeploymentUpdate,
  type NewDeployment
} from './deployment-object.ts'

const PREFIX = 'sesn_'
const MAX_PAIRS = 16
const params = Type.Object({ deployment_id: IdSchema })
type OfDeployment = { Params: Static<typeof params> }
const querystring = queryOf({})
const deployment = { 200: jsonReply('The deployment', DeploymentSchema), ...FAILURES }
const describe = (operationId: string, summary: string) => ({ operationId, tags: ['Deployments'], summary })
const ofOne = (operationId: string, summary: string) => ({
  ...describe(operationId, summary),
  params,
  querystring,
  response: deployment
})
const flag = Type.Optional(Type.Union([Type.Literal('true'), Type.Literal('false')]))
const QuerySchema = listQueryOf({
  'created_at[gte]': CREATED['created_at[gte]'],
  'created_at[lte]': CREATED['created_at[lte]'],
  agent_id: Type.Optional(Type.String()),
  include_archived: flag,
  status: Type.Optional(Type.Union([Type.Literal('active'), Type.Literal('paused')]))
})
type Query = Static<typeof QuerySchema>

/** `/v1/deployments`: schedules of the caller whose runs have new sessions. */
export function deploymentRoutes(scope: FastifyInstance, surface: WireSurface): void {
  const { replies, runs } = surface
  const { schedules } = runs
  const kept = requireKept(surface)

  const create = {
    ...describe('createDeployment', 'Begin sessions at given times, or when asked to'),
    querystring,
    body: NewDeploymentSchema,
    response: deployment
  }
  scope.post<{ Body: NewDeployment }>(
    '/v1/deployments',
    { schema: create, ...kept },
    async (request, reply) => sendJson(replies, reply, await createDeployment(surface, request))
  )

  const list = {
    ...describe('listDeployments', 'Your own deployments, newest first'),
    querystring: QuerySchema,
    response: {
      200: jsonReply('One page of deployments', pageOf(DeploymentSchema, 'Deployments')),
      ...FAILURES
    }
  }
  scope.get<{ Querystring: Query }>(
    '/v1/deployments',
    { schema: list, exposeHeadRoute: false, ...kept },
    async ({ query, caller }, reply) =>
      sendJson(replies, reply, await listDeployments(surface, query, caller))
  )

  scope.get<OfDeployment>(
    '/v1/deployments/:deployment_id',
    { schema: ofOne('getDeployment', 'A deployment'), exposeHeadRoute: false, ...kept },
    async ({ params: { deployment_id: id }, caller }, reply) =>
      sendJson(replies, reply, toDeployment(await findDeployment(surface, id, caller), Date.now()))
  )

  const update = { ...ofOne('updateDeployment', 'Change a deployment'), body: DeploymentUpdateSchema }
  scope.post<OfDeployment & { Body: DeploymentUpdate }>(
    '/v1/deployments/:deployment_id',
    { schema: update, ...kept },
    async (request, reply) => sendJson(replies, reply, await updateDeployment(surface, request))
  )

  const archive = ofOne('archiveDeployment', 'End a deployment; its sessions stay')
  scope.post<OfDeployment>(
    '/v1/deployments/:deployment_id/archive',
    { schema: archive, ...kept },
    async ({ params: { deployment_id: id }, caller }, reply) => {
      await findDeployment(surface, id, caller)
      return sendJson(replies, reply, toDeployment(await schedules.end(id), Date.now()))
    }
  )

  for (const [action, summary, enabled] of [
    ['pause', 'Begin no sessions until it is unpaused', false],
    ['unpause', 'Begin sessions from the next time on', true]
  ] as const)
    scope.post<OfDeployment>(
      `/v1/deployments/:deployment_id/${action}`,
      { schema: ofOne(`${action}Deployment`, summary), ...kept },
      async ({ params: { deployment_id: id }, caller: principal }, reply) => {
        requireActive(await findDeployment(surface, id, principal))
        const changed = await schedules.update(id, { enabled }, { principal })
        return sendJson(replies, reply, toDeployment(changed, Date.now()))
      }
    )

  const run = {
    ...ofOne('runDeployment', 'Begin a session now'),
    response: { 200: jsonReply('The run', DeploymentRunSchema), ...FAILURES }
  }
  scope.post<OfDeployment>(
    '/v1/deployments/:deployment_id/run',
    { schema: run, ...kept },
    async ({ params: { deployment_id: id }, caller, headers, log }, reply) => {
      const found = await findDeployment(surface, id, caller)
      requireActive(found)
      const asking = { caller, headers: withoutToken(headers), log }
      return sendJson(replies, reply, toDeploymentRun(await runSchedule(surface, found, PREFIX, asking)))
    }
  )
}

/** The option of routes that need schedules, where the stores may keep none. */
export function requireKept({ runs }: Pick<WireSurface, 'runs'>) {
  return {
    async preValidation() {
      if (!runs.schedules.areKept)
        throw new ANTHROPIC_ERR_UNSUPPORTED('deployments: no schedules are kept here')
    }
  }
}

/** @throws RUN_ERR_SCHEDULE_NOT_FOUND, RUN_ERR_STORE */
async function findDeployment(surface: WireSurface, id: string, caller: Principal): Promise<OwnedSchedule> {
  const schedule = await findSchedule(surface, id, caller)
  if (!isDeployment(schedule)) throw new RUN_ERR_SCHEDULE_NOT_FOUND(id)
  return schedule
}

/** @throws ANTHROPIC_ERR_DEPLOYMENT_ARCHIVED */
function requireActive({ endedAt }: OwnedSchedule): void {
  if (endedAt !== undefined) throw new ANTHROPIC_ERR_DEPLOYMENT_ARCHIVED()
}

/** @throws ANTHROPIC_ERR_*, and the errors of `Schedules.create` */
async function createDeployment(
  surface: WireSurface,
  { body, caller, headers, log }: FastifyRequest<{ Body: NewDeployment }>
): Promise<Deployment> {
  const { agent, environment_id: environment, initial_events: events, name, schedule, metadata } = body
  requireServed(body)
  requireEnvironment(environment)
  const runnable = await readAgent(surface, agent, caller)
  const given = { ...(readTiming(schedule) ?? { cron: null }), input: readEvents(events, runnable) }
  const label = { name, ...defined({ description: body.description || undefined, metadata }) }
  const asking = { caller, headers: withoutToken(headers), log }
  return toDeployment(await createSchedule(surface, runnable, given, label, asking), Date.now())
}

/** @throws ANTHROPIC_ERR_*, RUN_ERR_SCHEDULE_NOT_FOUND, and the errors of `Schedules.update` */
async function updateDeployment(
  surface: WireSurface,
  { params: { deployment_id: id }, body, caller }: FastifyRequest<OfDeployment & { Body: DeploymentUpdate }>
): Promise<Deployment> {
  const { agent, environment_id: environment, initial_events: events, schedule, metadata } = body
  const found = await findDeployment(surface, id, caller)
  requireActive(found)
  requireServed(body)
  if (environment !== undefined) requireEnvironment(environment)
  const reference = agent ?? toRunnableId(found.kind, found.name)
  const runnable = await readAgent(surface, reference, caller)
  if (runnable.kind !== found.kind || runnable.name !== found.name)
    throw new ANTHROPIC_ERR_UNSUPPORTED('another agent for a deployment: create another one')
  const change = {
    ...readTiming(schedule),
    ...defined({ input: events === undefined ? undefined : readEvents(events, runnable) })
  }
  const settings = relabel(found, (label) => ({
    name: body.name ?? label.name,
    ...defined({
      description: body.description === undefined ? label.description : body.description || undefined,
      metadata: patch(label.metadata, metadata ?? {})
    })
  }))
  return toDeployment(
    await surface.runs.schedules.update(id, change, { principal: caller, settings }),
    Date.now()
  )
}

/** @throws ANTHROPIC_ERR_BAD_REQUEST */
function patch(before: RunMetadata = {}, change: Readonly<Record<string, string | null>>): RunMetadata {
  const pairs = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null)
  if (pairs.length > MAX_PAIRS || pairs.some(([key]) => key.length < 1 || key.length > 64))
    throw new ANTHROPIC_ERR_BAD_REQUEST(`metadata: at most ${MAX_PAIRS} pairs, with keys of 1–64 characters`)
  return Object.fromEntries(pairs) as RunMetadata
}

/** @throws ANTHROPIC_ERR_UNSUPPORTED */
function requireServed({ budget, resources, vault_ids: vaults }: DeploymentUpdate): void {
  refuse('budget', budget)
  refuse('resources', resources)
  refuse('vault_ids', vaults)
}

/** @throws ANTHROPIC_ERR_UNKNOWN_AGENT, ANTHROPIC_ERR_UNKNOWN_VERSION */
function readAgent(
  surface: WireSurface,
  agent: NewDeployment['agent'],
  caller: Principal
): Promise<Runnable> {
  if (typeof agent === 'string') return requireAgent(surface, agent, caller)
  return requireAgent(surface, agent.id, caller, agent.version)
}

/** Undefined: nothing was given. @throws ANTHROPIC_ERR_BAD_REQUEST */
function readTiming(
  schedule: NewDeployment['schedule']
): { cron: string | null; timeZone?: string } | undefined {
  if (schedule === undefined) return undefined
  if (schedule === null) return { cron: null }
  const { expression: cron, timezone: timeZone } = schedule
  if (!isFiveFields(cron))
    throw new ANTHROPIC_ERR_BAD_REQUEST(
      'schedule.expression must have five fields, without seconds, L, W, #, ? and @'
    )
  return { cron, timeZone }
}

/** @throws ANTHROPIC_ERR_UNSUPPORTED, ANTHROPIC_ERR_BAD_REQUEST */
function readEvents([event, ...others]: NewDeployment['initial_events'], runnable: Runnable): RunInput {
  if (event?.type !== 'user.message' || others.length > 0)
    throw new ANTHROPIC_ERR_UNSUPPORTED('initial_events of a deployment other than one user.message')
  return readMessage(event, runnable)
}

/** @throws ANTHROPIC_ERR_BAD_REQUEST, ANTHROPIC_ERR_BAD_PAGE, RUN_ERR_STORE */
async function listDeployments(
  surface: WireSurface,
  { limit = DEFAULT_LIMIT, page, beta: _, ...filter }: Query,
  caller: Principal
): Promise<{ data: Deployment[]; next_page: string | null }> {
  const { agent_id: agent, include_archived: archived, status } = filter
  if (status !== undefined && archived === 'true')
    throw new ANTHROPIC_ERR_BAD_REQUEST('status and include_archived cannot be combined')
  const named = agent === undefined ? undefined : readRunnableId(agent)
  const list = ['deployments', filter]
  const { items, next } = await listSchedules(surface, caller, {
    limit,
    cursor: readCursor(list, page, (value) => typeof value === 'string'),
    shows(each) {
      if (!isDeployment(each) || !isCreatedWithin(Date.parse(each.createdAt), filter)) return false
      if (each.endedAt !== undefined && archived !== 'true') return false
      if (status !== undefined && (status === 'active') !== each.enabled) return false
      return named === undefined || (named.kind === each.kind && named.name === each.name)
    }
  })
  const now = Date.now()
  const data = items.map((each) => toDeployment(each, now))
  return { data, next_page: next === null ? null : toCursor(list, next) }
}
