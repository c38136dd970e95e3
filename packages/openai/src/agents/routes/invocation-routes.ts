import { codeOf, type Principal } from '@svc/contract'
import { RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import { cursorOfScheduledRun, findScheduledRun, listScheduledRuns, runSchedule } from '@svc/surface'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { OPENAI_ERR_BAD_CURSOR } from '../../errors.ts'
import type { Surface } from '../../surface.ts'
import { toInvocation } from '../projection/automations.ts'
import type { Invocation } from '../wire/automation-schemas.ts'
import { findAutomation, requireKept } from './automation-routes.ts'
import { toPage, toPageQuery } from './pages.ts'
import {
  AutomationParamsSchema,
  InvocationParamsSchema,
  PageQuerySchema,
  REPLIES,
  type PageQuery
} from './request-schemas.ts'

const tags = ['Automations']
const describe = (operationId: string, summary: string) => ({ operationId, tags, summary })
type OfAutomation = { Params: { automation_id: string } }
type OfInvocation = { Params: { automation_id: string; invocation_id: string } }

/** The runs of an automation: list and read them, and begin one now. */
export function invocationRoutes(scope: FastifyInstance, surface: Surface): void {
  const kept = requireKept(surface)

  const create = {
    ...describe('invokeAutomation', 'Send the message of an automation now'),
    params: AutomationParamsSchema,
    response: REPLIES.invocation
  }
  scope.post<OfAutomation>(
    '/agents/automations/:automation_id/invocations',
    { schema: create, ...kept },
    (request) => invoke(surface, request)
  )

  const list = {
    ...describe('listInvocations', 'The runs of an automation, newest first'),
    params: AutomationParamsSchema,
    querystring: PageQuerySchema,
    response: REPLIES.invocations
  }
  scope.get<OfAutomation & { Querystring: PageQuery }>(
    '/agents/automations/:automation_id/invocations',
    { schema: list, exposeHeadRoute: false, ...kept },
    async ({ params, query, caller }) => listInvocations(surface, params.automation_id, query, caller)
  )

  const get = {
    ...describe('getInvocation', 'A run of an automation'),
    params: InvocationParamsSchema,
    response: REPLIES.invocation
  }
  scope.get<OfInvocation>(
    '/agents/automations/:automation_id/invocations/:invocation_id',
    { schema: get, exposeHeadRoute: false, ...kept },
    async ({ params: { automation_id: id, invocation_id: runId }, caller }) => {
      const automation = await findAutomation(surface, id, caller)
      return toInvocation(await findInvocation(surface, id, runId, caller), automation)
    }
  )
}

/** @throws RUN_ERR_SCHEDULE_NOT_FOUND, and the errors of `runSchedule` */
async function invoke(surface: Surface, request: FastifyRequest<OfAutomation>): Promise<Invocation> {
  const automation = await findAutomation(surface, request.params.automation_id, request.caller)
  return toInvocation(await runSchedule(surface, automation, 'sess_', request), automation)
}

/** @throws RUN_ERR_NOT_FOUND if it is no run of the automation; RUN_ERR_STORE */
async function findInvocation(surface: Surface, automationId: string, runId: string, caller: Principal) {
  const found = await findScheduledRun(surface, runId, caller)
  if (found.scheduleId !== automationId) throw new RUN_ERR_NOT_FOUND(runId)
  return found
}

/** @throws OPENAI_ERR_BAD_CURSOR, RUN_ERR_SCHEDULE_NOT_FOUND, RUN_ERR_STORE */
async function listInvocations(surface: Surface, id: string, query: PageQuery, caller: Principal) {
  const { after, limit, order } = toPageQuery(query)
  const automation = await findAutomation(surface, id, caller)
  const last = after === undefined ? undefined : await findAfter(surface, id, after, caller)
  const { items, next } = await listScheduledRuns(surface, caller, {
    scheduleId: id,
    order,
    limit,
    cursor: last && cursorOfScheduledRun(last),
    shows: () => true
  })
  return toPage({ items: items.map((run) => toInvocation(run, automation)), hasMore: next !== null }, after)
}

async function findAfter(surface: Surface, id: string, runId: string, caller: Principal) {
  try {
    return await findInvocation(surface, id, runId, caller)
  } catch (err) {
    throw codeOf(err) === 'RUN_ERR_NOT_FOUND' ? new OPENAI_ERR_BAD_CURSOR(runId) : err
  }
}
