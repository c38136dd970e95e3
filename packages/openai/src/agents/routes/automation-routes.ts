import { codeOf, defined, type Principal, type RunInput, type Runnable } from '@svc/contract'
import { RUN_ERR_SCHEDULE_NOT_FOUND } from '@svc/contract/errors'
import {
  createSchedule,
  cursorOfSchedule,
  findSchedule,
  isFiveFields,
  listSchedules,
  relabel,
  toRunnableId,
  type OwnedSchedule
} from '@svc/surface'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { OPENAI_ERR_BAD_CURSOR, OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../../errors.ts'
import type { Surface } from '../../surface.ts'
import { toRunInput } from '../../wire/conversation.ts'
import { isAutomation, isCompleted, toAutomation } from '../projection/automations.ts'
import {
  CreateAutomationSchema,
  UpdateAutomationSchema,
  type Automation,
  type CreateAutomation,
  type GivenTarget,
  type UpdateAutomation
} from '../wire/automation-schemas.ts'
import { requireAgent } from './agent-routes.ts'
import { pageOf, toPage, toPageQuery } from './pages.ts'
import { requireContext } from './read-session.ts'
import { AutomationParamsSchema, AutomationsQuerySchema, REPLIES, type PageQuery } from './request-schemas.ts'
import { joinMessages } from './send-events.ts'
import { requireServed } from './session-settings.ts'

const tags = ['Automations']
const describe = (operationId: string, summary: string) => ({ operationId, tags, summary })
const params = AutomationParamsSchema
const ofOne = (operationId: string, summary: string) => ({
  ...describe(operationId, summary),
  params,
  response: REPLIES.automation
})
type OfAutomation = { Params: { automation_id: string } }
type ListQuery = PageQuery & { session_id?: string }

/** Create, read, change, list, pause and delete automations: schedules of the caller. */
export function automationRoutes(scope: FastifyInstance, surface: Surface): void {
  const { schedules } = surface.runs
  const kept = requireKept(surface)

  const create = {
    ...describe('createAutomation', 'Send messages at given times'),
    body: CreateAutomationSchema,
    response: REPLIES.automation
  }
  scope.post<{ Body: CreateAutomation }>('/agents/automations', { schema: create, ...kept }, (request) =>
    createAutomation(surface, request)
  )

  const list = {
    ...describe('listAutomations', 'Your own automations, newest first'),
    querystring: AutomationsQuerySchema,
    response: REPLIES.automations
  }
  scope.get<{ Querystring: ListQuery }>(
    '/agents/automations',
    { schema: list, exposeHeadRoute: false, ...kept },
    async ({ query, caller }) => listAutomations(surface, query, caller)
  )

  scope.get<OfAutomation>(
    '/agents/automations/:automation_id',
    { schema: ofOne('getAutomation', 'An automation'), exposeHeadRoute: false, ...kept },
    async ({ params: { automation_id: id }, caller }) =>
      toAutomation(await findAutomation(surface, id, caller))
  )

  const update = { ...ofOne('updateAutomation', 'Change an automation'), body: UpdateAutomationSchema }
  scope.post<OfAutomation & { Body: UpdateAutomation }>(
    '/agents/automations/:automation_id',
    { schema: update, ...kept },
    (request) => updateAutomation(surface, request)
  )

  const remove = {
    ...describe('deleteAutomation', 'Delete an automation; its sessions stay'),
    params,
    response: REPLIES.automationDeleted
  }
  scope.delete<OfAutomation>(
    '/agents/automations/:automation_id',
    { schema: remove, ...kept },
    async ({ params: { automation_id: id }, caller }) => {
      await findAutomation(surface, id, caller)
      if (!(await schedules.remove(id))) throw new RUN_ERR_SCHEDULE_NOT_FOUND(id)
      return { id, object: 'agent.automation.deleted', deleted: true }
    }
  )

  const pause = ofOne('pauseAutomation', 'Send nothing until it is resumed')
  scope.post<OfAutomation>(
    '/agents/automations/:automation_id/pause',
    { schema: pause, ...kept },
    (request) => enable(request, false)
  )
  const resume = ofOne('resumeAutomation', 'Send from the next time on')
  scope.post<OfAutomation>(
    '/agents/automations/:automation_id/resume',
    { schema: resume, ...kept },
    (request) => enable(request, true)
  )

  async function enable(
    {
      params: { automation_id: id },
      caller: principal
    }: Pick<FastifyRequest<OfAutomation>, 'params' | 'caller'>,
    enabled: boolean
  ) {
    if (isCompleted(await findAutomation(surface, id, principal)))
      throw new OPENAI_ERR_BAD_REQUEST('The automation is completed: create another one')
    return toAutomation(await schedules.update(id, { enabled }, { principal }))
  }
}

/** The option of routes that need schedules, where the stores may keep none. */
export function requireKept({ runs }: Pick<Surface, 'runs'>) {
  return {
    async preValidation() {
      if (!runs.schedules.areKept) throw new OPENAI_ERR_UNSUPPORTED('automations: no schedules are kept here')
    }
  }
}

/** A schedule of the caller that is an automation. @throws RUN_ERR_SCHEDULE_NOT_FOUND, RUN_ERR_STORE */
export async function findAutomation(
  surface: Pick<Surface, 'runs' | 'exposed'>,
  id: string,
  caller: Principal
): Promise<OwnedSchedule> {
  const schedule = await findSchedule(surface, id, caller)
  if (!isAutomation(schedule)) throw new RUN_ERR_SCHEDULE_NOT_FOUND(id)
  return schedule
}

/** @throws OPENAI_ERR_*, RUN_ERR_SESSION_NOT_FOUND, and the errors of `Schedules.create` */
async function createAutomation(
  surface: Surface,
  request: FastifyRequest<{ Body: CreateAutomation }>
): Promise<Automation> {
  const { name, type, target, metadata, ...times } = request.body
  if (type !== 'periodic' && type !== 'once')
    throw new OPENAI_ERR_UNSUPPORTED(`automations of the type ${JSON.stringify(type)}`)
  const timing = readTiming(times, type === 'periodic')
  for (const required of type === 'periodic' ? (['expression', 'timezone'] as const) : (['run_at'] as const))
    if (times[required] === undefined) throw new OPENAI_ERR_BAD_REQUEST(`${required} is required`)
  const { runnable, ...sent } = await readTarget(surface, target, request.caller)
  const label = { name, ...defined({ metadata: metadata ?? undefined }) }
  return toAutomation(await createSchedule(surface, runnable, { ...timing, ...sent }, label, request))
}

/** @throws OPENAI_ERR_*, RUN_ERR_SCHEDULE_NOT_FOUND, RUN_ERR_SESSION_NOT_FOUND, and the errors of `Schedules.update` */
async function updateAutomation(
  surface: Surface,
  { params: { automation_id: id }, body, caller }: FastifyRequest<OfAutomation & { Body: UpdateAutomation }>
): Promise<Automation> {
  const { name, metadata, target, ...times } = body
  const schedule = await findAutomation(surface, id, caller)
  const timing = readTiming(times, schedule.cron !== undefined)
  if (timing.at !== undefined && isCompleted(schedule))
    throw new OPENAI_ERR_BAD_REQUEST('run_at cannot be changed: the automation is completed')
  const sent = target && (await readTarget(surface, target, caller))
  if (sent !== undefined) requireSameTarget(schedule, sent)
  const settings = relabel(schedule, (label) => ({
    ...label,
    ...defined({ name, metadata: metadata === null ? {} : metadata })
  }))
  const change = { ...timing, ...defined({ input: sent?.input, sessionId: sent?.sessionId }) }
  return toAutomation(await surface.runs.schedules.update(id, change, { principal: caller, settings }))
}

function requireSameTarget(schedule: OwnedSchedule, { runnable, sessionId }: ReadTarget): void {
  if ((sessionId === undefined) !== (schedule.sessionId === undefined))
    throw new OPENAI_ERR_BAD_REQUEST('target.type must stay as it is')
  if (runnable.kind !== schedule.kind || runnable.name !== schedule.name)
    throw new OPENAI_ERR_UNSUPPORTED('another agent for an automation: create another one')
}

type GivenTimes = Pick<UpdateAutomation, 'expression' | 'timezone' | 'run_at'>

/** @throws OPENAI_ERR_BAD_REQUEST */
function readTiming(
  { expression: cron, timezone: timeZone, run_at: runAt }: GivenTimes,
  isPeriodic: boolean
) {
  if (isPeriodic && runAt !== undefined)
    throw new OPENAI_ERR_BAD_REQUEST('run_at is for one-time automations only')
  if (!isPeriodic && (cron !== undefined || timeZone !== undefined))
    throw new OPENAI_ERR_BAD_REQUEST('expression and timezone are for periodic automations only')
  if (cron !== undefined && !isFiveFields(cron))
    throw new OPENAI_ERR_BAD_REQUEST('expression must have five fields, without seconds, L, W, #, ? and @')
  return defined({ cron, timeZone, at: runAt === undefined ? undefined : new Date(runAt * 1_000) })
}

interface ReadTarget {
  readonly runnable: Runnable
  readonly input: RunInput
  readonly sessionId?: string
}

const FIELDS = {
  new_session: ['agent_id', 'environment', 'input'],
  existing_session: ['session_id', 'instructions']
} as const

/** @throws OPENAI_ERR_*, RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_STORE */
async function readTarget(surface: Surface, target: GivenTarget, caller: Principal): Promise<ReadTarget> {
  const { type, metadata, input = [], instructions = '', session_id: sessionId = '' } = target
  if (type !== 'new_session' && type !== 'existing_session')
    throw new OPENAI_ERR_UNSUPPORTED(`targets of the type ${JSON.stringify(type)}`)
  if (target.agent !== undefined)
    throw new OPENAI_ERR_BAD_REQUEST(
      'target.agent: agents are defined by the service, and cannot be given inline; name one by agent_id'
    )
  const isNew = type === 'new_session'
  for (const name of FIELDS[type])
    if (target[name] === undefined) throw new OPENAI_ERR_BAD_REQUEST(`target.${name} is required`)
  for (const name of FIELDS[isNew ? 'existing_session' : 'new_session'])
    if (target[name] !== undefined) throw new OPENAI_ERR_BAD_REQUEST(`target.${name} is not for ${type}`)
  requireServed(target, ['vault_ids'], 'target.')
  if (Object.keys(metadata ?? {}).length > 0) throw new OPENAI_ERR_UNSUPPORTED('target.metadata')
  if (isNew) {
    if (target.environment?.type !== 'none')
      throw new OPENAI_ERR_UNSUPPORTED('environments other than "none"')
    const runnable = await requireAgent(surface, target.agent_id!, caller)
    return { runnable, input: toRunInput(joinMessages(input), runnable) }
  }
  const { session, settings } = await requireContext(surface, sessionId, caller)
  // Only the routes of sessions have what stands in them.
  if (Object.keys(settings).length > 0)
    throw new OPENAI_ERR_UNSUPPORTED('automations for a session with tools, instructions or text of its own')
  const runnable = await requireAgent(surface, toRunnableId(session.kind, session.name), caller)
  return { runnable, input: toRunInput(instructions, runnable), sessionId }
}

/** @throws OPENAI_ERR_UNSUPPORTED, OPENAI_ERR_BAD_CURSOR, RUN_ERR_STORE */
async function listAutomations(surface: Surface, query: ListQuery, caller: Principal) {
  const { after, limit, order } = toPageQuery(query)
  const { session_id: sessionId } = query
  const shows = (each: OwnedSchedule) =>
    isAutomation(each) && (sessionId === undefined || each.sessionId === sessionId)
  if (order === 'asc') {
    // An owner has a limited number of schedules, which are kept newest first.
    const all: OwnedSchedule[] = []
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await listSchedules(surface, caller, { limit: 1_000, cursor, shows })
      all.push(...page.items)
      cursor = page.next
    }
    return pageOf(all.toReversed().map(toAutomation), query)
  }
  const { items, next } = await listSchedules(surface, caller, {
    limit,
    cursor: after === undefined ? undefined : await cursorAfter(surface, after, caller),
    shows
  })
  return toPage({ items: items.map(toAutomation), hasMore: next !== null }, after)
}

async function cursorAfter(surface: Surface, id: string, caller: Principal): Promise<string> {
  try {
    return cursorOfSchedule(await findAutomation(surface, id, caller))
  } catch (err) {
    throw codeOf(err) === 'RUN_ERR_SCHEDULE_NOT_FOUND' ? new OPENAI_ERR_BAD_CURSOR(id) : err
  }
}
