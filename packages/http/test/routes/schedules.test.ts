import type { Schedule } from '@svc/registry'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp } from '../helpers/secured-app.ts'

const runnables = [{ ...echo, resumable: true }]
const daily = { kind: 'agent', name: 'echo', cron: '0 9 * * *', timeZone: 'Europe/Berlin', input: 'hi' }
const read = async (response: Response) => (await response.json()) as Schedule & { owner?: string }
const idsOf = async (response: Response) =>
  ((await response.json()) as { schedules: Schedule[] }).schedules.map(({ scheduleId }) => scheduleId)

t.test('a schedule is created, read, changed, switched off and removed', async (t) => {
  const { ask, as } = await buildSecuredApp(t, { runnables })
  const ada = as('ada', 'agents:run', 'schedules:*')
  const response = await ask('POST', '/schedules', ada, { ...daily, metadata: { customer: 'c-17' } })
  t.equal(response.status, 201)
  const created = await read(response)
  t.match(created, { ...daily, metadata: { customer: 'c-17' }, catchUp: 'last', enabled: true })
  t.match(created, { nextAt: /T0[78]:00:00.000Z$/, createdAt: /Z$/ })
  const path = `/schedules/${created.scheduleId}`
  t.ok(response.headers.get('location')?.endsWith(path))
  t.same(await read(await ask('GET', path, ada)), created)
  const changed = await read(await ask('PATCH', path, ada, { timeZone: 'UTC', input: 'ho' }))
  t.match(changed, { cron: daily.cron, timeZone: 'UTC', input: 'ho', nextAt: /T09:00:00.000Z$/ })
  t.notOk('nextAt' in (await read(await ask('PATCH', path, ada, { enabled: false }))))
  t.equal((await ask('DELETE', path, ada)).status, 204)
  await requireError(t, await ask('GET', path, ada), 404, 'RUN_ERR_SCHEDULE_NOT_FOUND')
  await requireError(t, await ask('DELETE', path, ada), 404, 'RUN_ERR_SCHEDULE_NOT_FOUND')
})

t.test('it fires: its run is one of the owner', async (t) => {
  const { ask, as } = await buildSecuredApp(t, { runnables })
  const ada = as('ada', 'agents:run', 'schedules:*')
  const at = new Date(Date.now() + 500).toISOString()
  const { cron: _, timeZone: __, ...once } = { ...daily, at }
  const { scheduleId } = await read(await ask('POST', '/schedules', ada, once))
  let schedule: Schedule
  do schedule = await read(await ask('GET', `/schedules/${scheduleId}`, ada))
  while (schedule.lastRunId === undefined)
  t.equal(schedule.lastAt, at)
  t.match(await (await ask('GET', `/runs/${schedule.lastRunId}`, ada)).json(), {
    kind: 'agent',
    name: 'echo'
  })
})

t.test('owners see their own; administrators all', async (t) => {
  const { ask, as } = await buildSecuredApp(t, { runnables })
  const [ada, grace] = [as('ada', 'agents:run', 'schedules:*'), as('grace', 'agents:run', 'schedules:*')]
  const own: string[] = []
  for (let n = 0; n < 3; n++) own.push((await read(await ask('POST', '/schedules', ada, daily))).scheduleId)
  const { scheduleId } = await read(await ask('POST', '/schedules', grace, daily))
  t.same((await idsOf(await ask('GET', '/schedules', ada))).toSorted(), own.toSorted())
  const page = (await (await ask('GET', '/schedules?limit=2', ada)).json()) as { nextCursor: string }
  t.equal((await idsOf(await ask('GET', `/schedules?limit=2&cursor=${page.nextCursor}`, ada))).length, 1)
  await requireError(t, await ask('GET', '/schedules?cursor=x', ada), 400, 'REG_ERR_BAD_CURSOR')
  const path = `/schedules/${scheduleId}`
  for (const [method, body] of [['GET'], ['PATCH', { enabled: false }], ['DELETE']] as const)
    await requireError(t, await ask(method, path, ada, body), 404, 'RUN_ERR_SCHEDULE_NOT_FOUND')
  const admin = as('root', 'admin:*')
  t.equal((await idsOf(await ask('GET', '/schedules', admin))).length, 4)
  t.match(await read(await ask('PATCH', path, admin, { enabled: false })), { owner: 'grace', enabled: false })
  t.notOk('owner' in (await read(await ask('GET', path, grace))))
})

t.test('scopes are required, and the right to run what is scheduled', async (t) => {
  const { ask, as } = await buildSecuredApp(t, { runnables })
  const missing = 'HTTP_ERR_MISSING_SCOPE'
  await requireError(t, await ask('POST', '/schedules', as('a', 'agents:run'), daily), 403, missing)
  await requireError(t, await ask('POST', '/schedules', as('a', 'schedules:write'), daily), 403, missing)
  await requireError(t, await ask('GET', '/schedules', as('a', 'schedules:write')), 403, missing)
  await requireError(t, await ask('GET', '/schedules'), 401, 'HTTP_ERR_NO_TOKEN')
})

t.test('bad schedules are refused by what is wrong with them', async (t) => {
  const { post, get } = await buildApp(t, { runnables: [...runnables, { ...echo, name: 'fleeting' }] })
  const refuse = async (change: object, code: string, status = 400, headers = {}) => {
    const response = await post('/schedules', { ...daily, ...change }, headers)
    await requireError(t, response, status, code)
  }
  await refuse({ name: 'none' }, 'HTTP_ERR_UNKNOWN_RUNNABLE', 404)
  await refuse({ name: 'fleeting' }, 'RUN_ERR_NOT_QUEUEABLE')
  await refuse({ kind: 'robot' }, 'HTTP_ERR_VALIDATION')
  await refuse({ whenBusy: 'sometimes' }, 'HTTP_ERR_VALIDATION')
  await refuse({ apiKey: 'sk-1' }, 'HTTP_ERR_VALIDATION')
  await refuse({ cron: 'x'.repeat(257) }, 'HTTP_ERR_VALIDATION')
  await refuse({ cron: 'every day' }, 'RUN_ERR_SCHEDULE_CRON')
  await refuse({ cron: '0 0 30 2 *' }, 'RUN_ERR_SCHEDULE_NEVER')
  await refuse({ cron: '* * * * * *' }, 'RUN_ERR_SCHEDULE_TOO_OFTEN')
  await refuse({ timeZone: 'Europe/Atlantis' }, 'RUN_ERR_SCHEDULE_TIME_ZONE')
  await refuse({ at: '2030-01-01T00:00:00Z' }, 'RUN_ERR_BAD_SCHEDULE')
  await refuse({ cron: undefined, timeZone: undefined }, 'RUN_ERR_BAD_SCHEDULE')
  await refuse({ cron: undefined, timeZone: undefined, at: '2020-01-01T00:00:00Z' }, 'RUN_ERR_SCHEDULE_PAST')
  await refuse({ input: '' }, 'RUN_ERR_BAD_INPUT')
  await refuse({ input: undefined }, 'HTTP_ERR_VALIDATION')
  await refuse({ input: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }] }, 'RUN_ERR_SCHEDULE_BINARY')
  await refuse({}, 'RUN_ERR_NOT_QUEUEABLE', 400, { 'x-api-key': 'sk-12345678' })
  t.same(await idsOf(await get('/schedules')), [], 'none was created')
})
