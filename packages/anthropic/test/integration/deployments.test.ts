import { join } from 'node:path'
import type { DeploymentCreateParams } from '@anthropic-ai/sdk/resources/beta/deployments'
import { createInProcessStores, defineRunnable } from '@svc/registry'
import { fireSchedule } from '@tools/wires/fire-schedule'
import { findTypeFaults } from '@tools/wires/sdk-types'
import { authenticate } from '@tools/wires/agents'
import t from 'tap'
import { readAll, refusalOf, sessionsApp, untilIdle } from '../helpers/sessions-app.ts'

const say = (text: string) => ({ type: 'user.message' as const, content: [{ type: 'text' as const, text }] })
const environment_id = 'env_service'
const cron = { type: 'cron' as const, expression: '0 9 * * 1-5', timezone: 'Europe/Berlin' }
const daily = {
  name: 'Daily',
  agent: 'parrot',
  environment_id,
  initial_events: [say('News?')],
  schedule: cron
}
const repeating = (name: string) =>
  defineRunnable({ kind: 'agent', name, resumable: true, run: (input) => `You said: ${String(input)}` })
const parrot = repeating('parrot')
const runnables = [parrot]
const DEPLOYMENT =
  "import type { BetaManagedAgentsDeployment } from '@anthropic-ai/sdk/resources/beta/deployments'"
const RUN =
  "import type { BetaManagedAgentsDeploymentRun } from '@anthropic-ai/sdk/resources/beta/deployment-runs'"

t.test('a deployment is created, read, listed, changed, paused, unpaused and archived', async (t) => {
  const { client, runs } = await sessionsApp(t, { runnables })
  const { deployments } = client.beta
  const created = await deployments.create({
    ...daily,
    description: 'Of the day',
    metadata: { team: 'a', b: '1' }
  })
  t.match(created, {
    type: 'deployment',
    name: 'Daily',
    description: 'Of the day',
    agent: { type: 'agent', id: 'parrot', version: 1 },
    environment_id,
    initial_events: [say('News?')],
    metadata: { team: 'a', b: '1' },
    status: 'active',
    paused_reason: null,
    archived_at: null,
    schedule: { ...cron, last_run_at: null }
  })
  t.equal(created.schedule!.upcoming_runs_at!.length, 5)
  const { id } = created
  t.match(await runs.schedules.get(id), { cron: cron.expression, timeZone: cron.timezone, input: 'News?' })

  const changed = await deployments.update(id, {
    name: 'Hourly',
    description: '',
    metadata: { b: null, c: '2' },
    schedule: { ...cron, expression: '0 * * * *' },
    initial_events: [say('More?')],
    agent: { type: 'agent', id: 'parrot', version: 1 }
  })
  t.match(changed, { name: 'Hourly', description: null, initial_events: [say('More?')] })
  t.same(changed.metadata, { team: 'a', c: '2' })
  t.equal(changed.schedule?.expression, '0 * * * *')

  const paused = await deployments.pause(id)
  t.match(paused, { status: 'paused', paused_reason: { type: 'manual' } })
  t.equal(paused.schedule!.upcoming_runs_at!.length, 5, 'what it would do')
  t.match(await deployments.unpause(id), { status: 'active', paused_reason: null })
  const manual = await deployments.update(id, { schedule: null })
  t.equal(manual.schedule, null)

  const archived = await deployments.archive(id)
  t.match(archived, { status: 'active', archived_at: /Z$/ })
  t.same(await deployments.archive(id), archived)
  t.same(await deployments.retrieve(id), archived)
  for (const call of [
    () => deployments.update(id, { name: 'x' }),
    () => deployments.pause(id),
    () => deployments.unpause(id),
    () => deployments.run(id)
  ])
    t.equal(await refusalOf(call()), '400 ANTHROPIC_ERR_DEPLOYMENT_ARCHIVED')
  const faults = await findTypeFaults(
    { BetaManagedAgentsDeployment: [created, changed, paused, manual, archived] },
    [DEPLOYMENT],
    join(t.testdir(), 'deployments.ts')
  )
  t.equal(faults, '')
})

t.test('lists have pages and filters', async (t) => {
  const { client } = await sessionsApp(t, { runnables: [parrot, repeating('other')] })
  const { deployments } = client.beta
  const one = await deployments.create(daily)
  const two = await deployments.create({ ...daily, agent: 'other', schedule: null })
  const three = await deployments.create(daily)
  await deployments.pause(one.id)
  await deployments.archive(three.id)
  const ids = async (query: Parameters<typeof deployments.list>[0] = {}) =>
    (await readAll(deployments.list({ limit: 1, ...query }))).map(({ id }) => id)
  t.same(await ids(), [two.id, one.id])
  t.same(await ids({ include_archived: true }), [three.id, two.id, one.id])
  t.same(await ids({ status: 'paused' }), [one.id])
  t.same(await ids({ status: 'active' }), [two.id])
  t.same(await ids({ agent_id: 'other' }), [two.id])
  t.same(await ids({ 'created_at[gte]': '2100-01-01T00:00:00Z' }), [])
  const BAD = '400 ANTHROPIC_ERR_BAD_REQUEST'
  t.equal(await refusalOf(deployments.list({ status: 'active', include_archived: true })), BAD)
  t.equal(await refusalOf(deployments.list({ status: 'idle' as never })), BAD)
  t.equal(await refusalOf(deployments.list({ limit: 0 })), BAD)
  const { next_page } = await deployments.list({ limit: 1 })
  t.type(next_page, 'string')
  for (const page of [next_page!, 'x'])
    t.equal(await refusalOf(deployments.list({ page, agent_id: 'other' })), '400 ANTHROPIC_ERR_BAD_PAGE')
  t.equal(
    await refusalOf(client.beta.deploymentRuns.list({ page: next_page! })),
    '400 ANTHROPIC_ERR_BAD_PAGE'
  )
})

t.test('each run begins a session, by its time and by hand', async (t) => {
  const { client, runs } = await sessionsApp(t, { runnables })
  const { deployments, deploymentRuns, sessions } = client.beta
  const { id } = await deployments.create(daily)
  const other = await deployments.create({ ...daily, schedule: null })
  await deployments.pause(other.id)
  const manual = await deployments.run(id)
  t.match(manual, {
    type: 'deployment_run',
    deployment_id: id,
    agent: { type: 'agent', id: 'parrot', version: 1 },
    error: null,
    trigger_context: { type: 'manual' }
  })
  t.match(await sessions.retrieve(manual.session_id!), { agent: { id: 'parrot' }, deployment_id: id })
  t.equal((await sessions.create({ agent: 'parrot', environment_id: 'env_service' })).deployment_id, null)
  const events = await untilIdle(client, manual.session_id!)
  t.match(
    events.map(({ type }) => type),
    ['user.message', 'session.status_running']
  )
  t.match(
    events.find(({ type }) => type === 'agent.message'),
    { content: [{ text: 'You said: News?' }] }
  )
  t.match(await deployments.run(other.id), { deployment_id: other.id }, 'also while it is paused')

  await fireSchedule(runs, id)
  const list = () => readAll(deploymentRuns.list({ deployment_id: id, limit: 1 }))
  let all = await list()
  while (all.length < 2) all = await list()
  const [scheduled, first] = all
  t.same(first, manual)
  t.match(scheduled, { error: null, trigger_context: { type: 'schedule', scheduled_at: /Z$/ } })
  t.same(await deploymentRuns.retrieve(scheduled!.id), scheduled)
  await untilIdle(client, scheduled!.session_id!)
  const begun = await readAll(sessions.list({ deployment_id: id, order: 'asc', limit: 1 }))
  t.same(new Set(begun.map((each) => each.id)), new Set([manual.session_id, scheduled!.session_id]))
  t.same(await readAll(sessions.list({ deployment_id: 'none' })), [])
  t.match((await deployments.retrieve(id)).schedule, { last_run_at: /Z$/ })
  const ids = async (query: object) => (await readAll(deploymentRuns.list(query))).map((each) => each.id)
  t.equal((await ids({})).length, 3, 'of all deployments')
  t.same(await ids({ deployment_id: id, trigger_type: 'manual' }), [manual.id])
  t.same(await ids({ deployment_id: id, trigger_type: 'schedule' }), [scheduled!.id])
  t.same(await ids({ has_error: true }), [])
  t.equal((await ids({ has_error: false })).length, 3)
  t.same(await ids({ deployment_id: 'none' }), [])
  t.same(await ids({ 'created_at[gt]': '2100-01-01T00:00:00Z' }), [])

  // One that is no deployment has a session for all its runs.
  const repeated = { cron: '0 9 * * *', input: 'x', sessionId: 's' }
  const { scheduleId } = await runs.schedules.create(parrot, repeated)
  await fireSchedule(runs, scheduleId)
  let found = await refusalOf(sessions.retrieve('s'))
  while (found !== 'not refused') found = await refusalOf(sessions.retrieve('s'))
  t.equal((await sessions.retrieve('s')).deployment_id, null)
  const [foreign] = (await runs.list({ metadata: { key: 'scheduleId', value: scheduleId }, limit: 1 })).runs
  t.equal((await ids({})).length, 3, 'and its runs are none of deployments')
  t.same(await ids({ deployment_id: scheduleId }), [])
  t.equal(await refusalOf(deploymentRuns.retrieve(foreign!.runId)), '404 RUN_ERR_NOT_FOUND')
  const faults = await findTypeFaults(
    { BetaManagedAgentsDeploymentRun: [manual, scheduled] },
    [RUN],
    join(t.testdir(), 'runs.ts')
  )
  t.equal(faults, '')
})

t.test('what a schedule cannot hold is refused with an error of the protocol', async (t) => {
  const once = defineRunnable({ kind: 'agent', name: 'once', run: () => 'Done' })
  const { client, app } = await sessionsApp(t, { runnables: [parrot, once, repeating('other')] })
  const { deployments, deploymentRuns } = client.beta
  const create = (more: object) =>
    refusalOf(deployments.create({ ...daily, ...more } as DeploymentCreateParams))
  const BAD = '400 ANTHROPIC_ERR_BAD_REQUEST'
  const UNSUPPORTED = '400 ANTHROPIC_ERR_UNSUPPORTED'
  const png = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
  const cases: [more: object, refusal: string][] = [
    [{ schedule: { ...cron, type: 'interval' } }, BAD],
    [{ schedule: { ...cron, timezone: undefined } }, BAD],
    [{ schedule: { ...cron, timezone: 'Mars/Olympus' } }, '400 RUN_ERR_SCHEDULE_TIME_ZONE'],
    [{ schedule: { ...cron, expression: '@daily' } }, BAD],
    [{ schedule: { ...cron, expression: '0 0 9 * * 1' } }, BAD],
    [{ schedule: { ...cron, expression: '0 9 L * *' } }, BAD],
    [{ schedule: { ...cron, expression: '0 25 * * *' } }, '400 RUN_ERR_SCHEDULE_CRON'],
    [{ schedule: { ...cron, expression: '0 0 30 2 *' } }, '400 RUN_ERR_SCHEDULE_NEVER'],
    [{ name: '' }, BAD],
    [{ name: 5 }, BAD],
    [{ surprise: 1 }, BAD],
    [{ metadata: { a: 'x'.repeat(513) } }, BAD],
    [{ initial_events: [] }, BAD],
    [{ initial_events: Array.from({ length: 51 }, () => say('Hi')) }, BAD],
    [{ initial_events: [say('')] }, BAD],
    [{ initial_events: [say('One'), say('Two')] }, UNSUPPORTED],
    [{ initial_events: [{ type: 'system.message', content: [] }] }, UNSUPPORTED],
    [{ initial_events: [{ type: 'user.define_outcome', description: 'Done' }] }, UNSUPPORTED],
    [{ initial_events: [{ type: 'user.shout' }] }, BAD],
    [
      { initial_events: [{ type: 'user.message', content: [{ type: 'image', source: png }] }] },
      '400 RUN_ERR_SCHEDULE_BINARY'
    ],
    [{ budget: { type: 'limit' } }, UNSUPPORTED],
    [{ resources: [{ type: 'file', file_id: 'f' }] }, UNSUPPORTED],
    [{ vault_ids: ['v'] }, UNSUPPORTED],
    [{ environment_id: 'env_1' }, '404 ANTHROPIC_ERR_UNKNOWN_ENVIRONMENT'],
    [{ agent: 'nobody' }, '404 ANTHROPIC_ERR_UNKNOWN_AGENT'],
    [{ agent: { type: 'agent', id: 'parrot', version: 2 } }, '404 ANTHROPIC_ERR_UNKNOWN_VERSION'],
    [{ agent: 'once' }, '400 RUN_ERR_NOT_QUEUEABLE']
  ]
  for (const [more, refusal] of cases) t.equal(await create(more), refusal, JSON.stringify(more).slice(0, 80))
  t.same(await readAll(deployments.list()), [], 'nothing was created')

  const { id } = await deployments.create({ ...daily, metadata: { a: '1' } })
  const pairs = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`k${at}`, 'v']))
  t.equal(await refusalOf(deployments.update(id, { metadata: pairs })), BAD)
  t.equal(await refusalOf(deployments.update(id, { metadata: { [`k${'x'.repeat(64)}`]: 'v' } })), BAD)
  t.equal(await refusalOf(deployments.update(id, { agent: 'other' })), UNSUPPORTED)
  for (const call of [
    () => deployments.retrieve('none'),
    () => deployments.update('none', {}),
    () => deployments.archive('none'),
    () => deployments.run('none')
  ])
    t.equal(await refusalOf(call()), '404 RUN_ERR_SCHEDULE_NOT_FOUND')
  t.equal(await refusalOf(deploymentRuns.retrieve('none')), '404 RUN_ERR_NOT_FOUND')
  t.equal(await refusalOf(deploymentRuns.list({ trigger_type: 'x' as never })), BAD)
  const unknown = {
    url: '/managed/v1/deployments',
    headers: { 'anthropic-beta': 'managed-agents-2027-01-01' }
  }
  t.match((await app.inject(unknown)).json(), {
    type: 'error',
    error: { details: { error_code: 'ANTHROPIC_ERR_UNKNOWN_BETA' } }
  })
})

t.test('deployments of others are not found, and neither are schedules that are none', async (t) => {
  const { connect, runs } = await sessionsApp(t, { runnables, options: { authenticate } })
  const mine = connect({ apiKey: 'ada' }).beta
  const theirs = connect({ apiKey: 'bob' }).beta
  const { id } = await mine.deployments.create(daily)
  const run = await mine.deployments.run(id)
  t.same(await readAll(theirs.deployments.list()), [])
  t.same(await readAll(theirs.deploymentRuns.list()), [])
  for (const call of [
    () => theirs.deployments.retrieve(id),
    () => theirs.deployments.update(id, { name: 'x' }),
    () => theirs.deployments.pause(id),
    () => theirs.deployments.unpause(id),
    () => theirs.deployments.archive(id),
    () => theirs.deployments.run(id)
  ])
    t.equal(await refusalOf(call()), '404 RUN_ERR_SCHEDULE_NOT_FOUND')
  t.equal(await refusalOf(theirs.deploymentRuns.retrieve(run.id)), '404 RUN_ERR_NOT_FOUND')

  const principal = { sub: 'ada', scopes: [] }
  const plain = await runs.schedules.create(parrot, { cron: '*/5 * * * *', input: 'Tick' }, { principal })
  t.match(await mine.deployments.retrieve(plain.scheduleId), {
    name: 'parrot',
    initial_events: [say('Tick')]
  })
  const at = new Date(Date.now() + 3_600_000)
  const once = await runs.schedules.create(parrot, { at, input: 'Tick' }, { principal })
  const inSession = { cron: '*/5 * * * *', input: 'Tick', sessionId: 's' }
  const kept = await runs.schedules.create(parrot, inSession, { principal })
  for (const { scheduleId } of [once, kept])
    t.equal(await refusalOf(mine.deployments.retrieve(scheduleId)), '404 RUN_ERR_SCHEDULE_NOT_FOUND')
  t.same(
    (await readAll(mine.deployments.list())).map((each) => each.id),
    [plain.scheduleId, id]
  )
})

t.test('an app that keeps no schedules says so', async (t) => {
  const { schedules: _, ...stores } = createInProcessStores()
  const { client } = await sessionsApp(t, { runnables, engine: { stores } })
  const { deployments, deploymentRuns } = client.beta
  for (const call of [
    () => deployments.create(daily),
    () => deployments.list(),
    () => deployments.retrieve('x'),
    () => deploymentRuns.list()
  ])
    t.equal(await refusalOf(call()), '400 ANTHROPIC_ERR_UNSUPPORTED')
})
