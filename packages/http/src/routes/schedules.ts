import { isAdmin, reachesOwner, ScheduleChangeSchema, type Principal } from '@svc/contract'
import { RUN_ERR_SCHEDULE_NOT_FOUND } from '@svc/contract/errors'
import {
  ProviderKeys,
  requireAllowed,
  requireExposed,
  sendJson,
  type OwnedSchedule,
  jsonReply
} from '@svc/surface'
import { formatRunCursor } from '@svc/contract/stores'
import { describeOperation, emptyReply, errorReplies } from '../openapi/describe-operation.ts'
import { collectPage, sendPage } from '../replies/collect-page.ts'
import { ScheduleParamsSchema } from '../schemas/parameters.ts'
import {
  ScheduleBodySchema,
  ScheduleItemSchema,
  ScheduleListSchema,
  ScheduleQuerySchema,
  type ScheduleItem
} from '../schemas/schedules.ts'
import type { HttpScope, Surface } from '../surface.ts'

const config = { access: 'authenticated' } as const
const found = jsonReply('The schedule', ScheduleItemSchema)
const list = {
  ...describeOperation(
    'list-schedules',
    'Your own schedules, newest first',
    'Administrators see those of all owners.'
  ),
  querystring: ScheduleQuerySchema,
  response: {
    200: jsonReply('One page of schedules', ScheduleListSchema),
    ...errorReplies(400, 404, 500, 503)
  }
}
const create = {
  ...describeOperation(
    'create-schedule',
    'Start runs at given times',
    'One of `cron` and `at` is required. An instant fires once, whatever restarts and however many processes there are.'
  ),
  body: ScheduleBodySchema,
  response: {
    201: jsonReply('The new schedule', ScheduleItemSchema, { location: 'The URL of the schedule' }),
    ...errorReplies(400, 403, 404, 413, 415, 429, 500, 503)
  }
}
const get = {
  ...describeOperation('get-schedule', 'One schedule'),
  params: ScheduleParamsSchema,
  response: { 200: found, ...errorReplies(400, 404, 414, 500, 503) }
}
const change = {
  ...describeOperation(
    'change-schedule',
    'Change a schedule, or switch it off and on',
    'What is left out stays as it is. A new `cron` or `at` begins with the first instant from now on, and so does a schedule that is enabled again.'
  ),
  params: ScheduleParamsSchema,
  body: ScheduleChangeSchema,
  response: { 200: found, ...errorReplies(400, 404, 409, 413, 414, 415, 429, 500, 503) }
}
const remove = {
  ...describeOperation('remove-schedule', 'Remove a schedule'),
  params: ScheduleParamsSchema,
  response: { 204: emptyReply('Removed; its runs stay'), ...errorReplies(400, 404, 414, 500, 503) }
}

/** `/schedules`: create, list, read, change and remove your own. */
export function schedulesRoutes(scope: HttpScope, surface: Surface): void {
  const { runs, exposed, replies, providerKeyHeaders } = surface
  const { schedules } = runs

  scope.get('/schedules', { schema: list, config }, async ({ principal, query }, reply) => {
    const owner = isAdmin(principal.scopes) ? {} : { owner: principal.sub }
    const page = await collectPage<OwnedSchedule>(
      {
        async read(limit, cursor) {
          const more = { ...owner, limit, ...(cursor !== undefined && { cursor }) }
          const { schedules: items, nextCursor } = await schedules.list(more)
          return { items, nextCursor }
        },
        encode: (each) => (exposed.shows(each) ? JSON.stringify(toItem(each, principal)) : undefined),
        cursorOf: ({ createdAt, scheduleId }) =>
          formatRunCursor({ at: Date.parse(createdAt), runId: scheduleId })
      },
      query
    )
    return sendPage(reply, 'schedules', page)
  })

  scope.post('/schedules', { schema: create, config }, async ({ body, principal, headers, log }, reply) => {
    const { kind, name, ...given } = body
    await requireAllowed(surface, principal, 'run', { kind, name })
    const runnable = await requireExposed(surface, kind, name)
    const { apiKey, redact } = new ProviderKeys(headers, undefined, providerKeyHeaders).forRun(log)
    const options = { ...exposed.startOptions(runnable), principal, apiKey, redact }
    const schedule = await schedules.create(runnable, given, options)
    reply.code(201).header('location', `${surface.baseOf(reply.request)}/schedules/${schedule.scheduleId}`)
    return sendJson(replies, reply, toItem(schedule, principal))
  })

  scope.get('/schedules/:scheduleId', { schema: get, config }, async ({ params, principal }, reply) =>
    sendJson(replies, reply, toItem(await requireSchedule(params.scheduleId, principal), principal))
  )

  scope.patch(
    '/schedules/:scheduleId',
    { schema: change, config },
    async ({ params, body, principal }, reply) => {
      const { scheduleId } = await requireSchedule(params.scheduleId, principal)
      const schedule = await schedules.update(scheduleId, body, { principal })
      return sendJson(replies, reply, toItem(schedule, principal))
    }
  )

  scope.delete('/schedules/:scheduleId', { schema: remove, config }, async ({ params, principal }, reply) => {
    const { scheduleId } = await requireSchedule(params.scheduleId, principal)
    if (!(await schedules.remove(scheduleId))) throw new RUN_ERR_SCHEDULE_NOT_FOUND(scheduleId)
    return reply.code(204).send()
  })

  // Another owner's schedule, or another surface's, counts as missing.
  async function requireSchedule(scheduleId: string, principal: Principal): Promise<OwnedSchedule> {
    const schedule = await schedules.get(scheduleId)
    if (schedule === undefined || !reachesOwner(principal, schedule.owner) || !exposed.shows(schedule))
      throw new RUN_ERR_SCHEDULE_NOT_FOUND(scheduleId)
    return schedule
  }
}

function toItem(
  { owner, registry: _, endedAt: __, settings: ___, ...schedule }: OwnedSchedule,
  { sub }: Principal
): ScheduleItem {
  return owner === sub ? schedule : { ...schedule, owner }
}
