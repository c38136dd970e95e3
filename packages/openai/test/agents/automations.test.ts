import { join } from 'node:path'
import { createInProcessStores } from '@svc/registry'
import type { AutomationCreateParams } from 'openai/resources/beta/agents/automations/automations'
import { fireSchedule } from '@tools/wires/fire-schedule'
import { findTypeFaults } from '@tools/wires/sdk-types'
import t from 'tap'
import { promptOf, supportAgent } from '../helpers/agents.ts'
import { agentsApp, collect, refusalOf, until } from './helpers/agents-app.ts'

const environment = { type: 'none' } as const
const say = (text: string) => ({ role: 'user' as const, content: [{ type: 'input_text' as const, text }] })
const target = { type: 'new_session' as const, agent_id: 'support', environment, input: [say('News?')] }
const daily = {
  type: 'periodic' as const,
  name: 'Daily',
  expression: '0 9 * * MON-FRI',
  timezone: 'Europe/Berlin',
  target
}
const later = () => Math.floor(Date.now() / 1_000) + 3_600

t.test('an automation is created, read, listed, changed, paused, resumed and deleted', async (t) => {
  const { add } = supportAgent('Hello')
  const { client, runs } = await agentsApp(t, { add })
  const { automations } = client().beta.agents
  const created = await automations.create({ ...daily, metadata: { team: 'a' } })
  t.match(created, {
    object: 'agent.automation',
    type: 'periodic',
    name: 'Daily',
    expression: '0 9 * * MON-FRI',
    timezone: 'Europe/Berlin',
    status: 'active',
    metadata: { team: 'a' },
    created_by: { type: 'developer' },
    target: { type: 'new_session', agent_id: 'support', agent: null, environment, vault_ids: [] }
  })
  const { id } = created
  t.same(await automations.retrieve(id), created)
  t.match(await runs.schedules.get(id), {
    cron: '0 9 * * MON-FRI',
    timeZone: 'Europe/Berlin',
    input: 'News?'
  })

  const changed = await automations.update(id, {
    name: 'Hourly',
    expression: '0 * * * *',
    metadata: {},
    target: { ...target, input: [say('More'), say('news?')] }
  })
  t.match(changed, { name: 'Hourly', expression: '0 * * * *', timezone: 'Europe/Berlin' })
  t.same(changed.metadata, {})
  t.match(await runs.schedules.get(id), { input: /More\s+news\?/ })
  t.match(await automations.update(id, { timezone: 'UTC' }), { name: 'Hourly', timezone: 'UTC' })

  t.match(await automations.pause(id), { status: 'paused' })
  t.notOk('nextAt' in (await runs.schedules.get(id))!)
  t.match(await automations.resume(id), { status: 'active' })

  const run_at = later()
  const once = await automations.create({ type: 'once', name: 'Remind', run_at, target })
  t.match(once, { type: 'once', run_at, status: 'active' })
  t.match(await automations.update(once.id, { run_at: run_at + 60 }), { run_at: run_at + 60 })
  const names = (await collect(automations.list({ limit: 1 }))).map(({ name }) => name)
  t.same(names, ['Remind', 'Hourly'], 'newest first, on pages')
  const oldest = (await collect(automations.list({ limit: 1, order: 'asc' }))).map(({ name }) => name)
  t.same(oldest, names.toReversed())

  t.same(await automations.delete(id), { id, object: 'agent.automation.deleted', deleted: true })
  t.match(await refusalOf(automations.retrieve(id)), { status: 404, code: 'RUN_ERR_SCHEDULE_NOT_FOUND' })
  const faults = await findTypeFaults(
    { Automation: [created, changed, once] },
    ["import type { Automation } from 'openai/resources/beta/agents/automations/automations'"],
    join(t.testdir(), 'automations.ts')
  )
  t.equal(faults, '')
})

t.test('each invocation of a new session begins one, by its time and by hand', async (t) => {
  const { add } = supportAgent('Nothing new.')
  const { client, runs } = await agentsApp(t, { add })
  const { automations, sessions } = client().beta.agents
  const created = await automations.create(daily)
  const { id } = created
  const manual = await automations.invocations.create(id)
  t.match(manual, { automation_id: id, scheduled_at: null, source: { type: 'manual' }, error: null })
  t.match(manual.session_id, /^sess_/)
  t.match(await sessions.retrieve(manual.session_id!), { agent: { id: 'support' } })
  await fireSchedule(runs, id)
  const list = () => collect(automations.invocations.list(id, { limit: 1 }))
  const all = await until(
    list,
    (each) => each.length === 2 && each.every(({ status }) => status !== 'queued')
  )
  const [scheduled, first] = all
  const oldestFirst = await collect(automations.invocations.list(id, { limit: 1, order: 'asc' }))
  t.same(oldestFirst, all.toReversed())
  t.match(first, { id: manual.id, status: 'completed', session_id: manual.session_id })
  t.match(scheduled, { status: 'completed', source: { type: 'automation', automation: { id } } })
  t.type(scheduled!.scheduled_at, 'number')
  t.not(scheduled!.session_id, manual.session_id)
  t.same(await automations.invocations.retrieve(scheduled!.id, { automation_id: id }), scheduled)
  t.same(await automations.retrieve(id), created, 'the schedule stays as it was')

  const itemsOf = async () => collect(sessions.items.list(scheduled!.session_id!, { order: 'asc' }))
  const items = await until(itemsOf, (each) => each.at(-1)?.type === 'message' && each.length === 2)
  t.match(items, [
    { role: 'user', content: [{ text: 'News?' }] },
    { role: 'assistant', phase: 'final_answer' }
  ])
  const faults = await findTypeFaults(
    { AutomationInvocation: [manual, ...all] },
    ["import type { AutomationInvocation } from 'openai/resources/beta/agents/automations/invocations'"],
    join(t.testdir(), 'invocations.ts')
  )
  t.equal(faults, '')
})

t.test('invocations of an existing session are its next turns', async (t) => {
  const { add, model } = supportAgent(['Hello', 'Nothing new.', 'Still nothing.'])
  const { client, runs } = await agentsApp(t, { add })
  const { automations, sessions } = client().beta.agents
  const session = await sessions.create({ agent_id: 'support', environment, input: 'Hi' })
  const isIdle = () =>
    until(
      () => sessions.retrieve(session.id),
      ({ status }) => status === 'idle'
    )
  await isIdle()
  const run_at = later()
  const existing = { type: 'existing_session' as const, session_id: session.id, instructions: 'News?' }
  const { id } = await automations.create({ type: 'once', name: 'Remind', run_at, target: existing })
  t.match(await automations.retrieve(id), { target: existing })
  await automations.create(daily)
  t.same(
    (await collect(automations.list({ session_id: session.id }))).map((each) => each.id),
    [id]
  )
  t.match(await automations.invocations.create(id), { session_id: session.id })
  await isIdle()
  await fireSchedule(runs, id)
  t.match(await automations.retrieve(id), { status: 'completed' })
  const invocations = () => collect(automations.invocations.list(id))
  await until(invocations, (each) => each.length === 2 && each.every(({ status }) => status === 'completed'))
  await until(
    () => collect(sessions.turns.list(session.id)),
    (turns) => turns.length === 3
  )
  await isIdle()
  t.match(promptOf(model.calls.at(-1)! as never).join(), /Hi.*Hello.*News\?.*Nothing new\..*News\?/s)
  for (const call of [() => automations.pause(id), () => automations.resume(id)])
    t.match(await refusalOf(call()), { status: 400, message: /completed/ })
  t.match(await refusalOf(automations.update(id, { run_at: later() })), { status: 400, message: /completed/ })
})

t.test('what a schedule cannot hold is refused with an error of the protocol', async (t) => {
  const { add } = supportAgent('Hello')
  const { client, app } = await agentsApp(t, { add })
  const { automations, sessions } = client().beta.agents
  const create = (more: object) =>
    refusalOf(automations.create({ ...daily, ...more } as never as AutomationCreateParams))
  const plain = await sessions.create({ agent_id: 'support', environment })
  const own = await sessions.create({ agent_id: 'support', environment, agent: { instructions: 'Be brief' } })
  const existing = { type: 'existing_session', session_id: plain.id, instructions: 'News?' }
  const once = { type: 'once', expression: undefined, timezone: undefined }
  const png = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
  const cases: [more: object, status: number, code: string][] = [
    [{ type: 'webhook' }, 400, 'OPENAI_ERR_UNSUPPORTED'],
    [{ expression: undefined }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ timezone: undefined }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ timezone: 'Mars/Olympus' }, 400, 'RUN_ERR_SCHEDULE_TIME_ZONE'],
    [{ expression: '* * * * * *' }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ expression: '@daily' }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ expression: '0 0 L * *' }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ expression: '61 * * * *' }, 400, 'RUN_ERR_SCHEDULE_CRON'],
    [{ expression: '0 0 30 2 *' }, 400, 'RUN_ERR_SCHEDULE_NEVER'],
    [{ expression: 'x'.repeat(257) }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ run_at: later() }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [once, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ ...once, run_at: 1 }, 400, 'RUN_ERR_SCHEDULE_PAST'],
    [{ ...once, run_at: 1.5 }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ ...once, run_at: 9e15 }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ ...once, run_at: later(), timezone: 'UTC' }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ name: '' }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ name: 5 }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ surprise: 1 }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ metadata: { k: 'x'.repeat(513) } }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ target: undefined }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ target: { type: 'queue' } }, 400, 'OPENAI_ERR_UNSUPPORTED'],
    [{ target: { ...target, agent_id: 'nobody' } }, 404, 'OPENAI_ERR_UNKNOWN_MODEL'],
    [{ target: { ...target, agent_id: undefined } }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ target: { ...target, agent: { model: 'gpt-5' } } }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ target: { ...target, environment: { type: 'openai_hosted' } } }, 400, 'OPENAI_ERR_UNSUPPORTED'],
    [{ target: { ...target, vault_ids: ['v'] } }, 400, 'OPENAI_ERR_UNSUPPORTED'],
    [{ target: { ...target, metadata: { a: '1' } } }, 400, 'OPENAI_ERR_UNSUPPORTED'],
    [{ target: { ...target, input: [] } }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ target: { ...target, input: [say('')] } }, 400, 'RUN_ERR_BAD_INPUT'],
    [{ target: { ...target, input: [{ role: 'user', content: [png] }] } }, 400, 'RUN_ERR_SCHEDULE_BINARY'],
    [
      { target: { ...target, input: [{ role: 'user', content: [{ type: 'input_file' }] }] } },
      400,
      'OPENAI_ERR_UNSUPPORTED'
    ],
    [{ target: { ...existing, session_id: 'none' } }, 404, 'RUN_ERR_SESSION_NOT_FOUND'],
    [{ target: { ...existing, instructions: '' } }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ target: { ...existing, agent_id: 'support' } }, 400, 'OPENAI_ERR_BAD_REQUEST'],
    [{ target: { ...existing, session_id: own.id } }, 400, 'OPENAI_ERR_UNSUPPORTED']
  ]
  for (const [more, status, code] of cases)
    t.match(await create(more), { status, code }, JSON.stringify(more).slice(0, 80))
  t.same((await automations.list()).data, [], 'nothing was created')

  const { id } = await automations.create(daily)
  const update = (more: object) => refusalOf(automations.update(id, more))
  t.match(await update({ run_at: later() }), { status: 400, message: /one-time/ })
  t.match(await update({ target: existing }), { status: 400, message: /target\.type/ })
  t.match(await update({ type: 'once' }), { status: 400, code: 'OPENAI_ERR_BAD_REQUEST' })
  t.match(await update({ expression: '* * *' }), { status: 400, message: /five fields/ })
  t.match(await update({ timezone: 'Mars/Olympus' }), { status: 400, code: 'RUN_ERR_SCHEDULE_TIME_ZONE' })
  for (const order of ['asc', 'desc'] as const)
    t.match(await refusalOf(automations.list({ after: plain.id, order })), {
      status: 400,
      code: 'OPENAI_ERR_BAD_CURSOR'
    })
  t.match(await refusalOf(automations.list({ limit: 101 })), { status: 400 })
  const invocation = await automations.invocations.create(id)
  const other = await automations.create(daily)
  t.match(await refusalOf(automations.invocations.list(other.id, { after: invocation.id })), {
    status: 400,
    code: 'OPENAI_ERR_BAD_CURSOR'
  })
  t.match(await refusalOf(automations.invocations.retrieve(invocation.id, { automation_id: other.id })), {
    status: 404,
    code: 'RUN_ERR_NOT_FOUND'
  })
  t.match(await refusalOf(automations.invocations.retrieve('none', { automation_id: id })), { status: 404 })
  const headers = { 'openai-beta': 'agents=v2' }
  t.equal((await app.inject({ url: '/v1/agents/automations', headers })).statusCode, 400)
})

t.test('automations of others are not found, and neither are schedules that are none', async (t) => {
  const { add } = supportAgent('Hello')
  const authenticate = Object.assign(
    async ({ token }: { token?: string }) => ({ sub: token ?? 'nobody', scopes: ['*'] }),
    { schemes: [] }
  )
  const { client, runs, app } = await agentsApp(t, { add, options: { authenticate: authenticate as never } })
  const mine = client('ada').beta.agents.automations
  const theirs = client('bob').beta.agents.automations
  const { id } = await mine.create(daily)
  const invocation = await mine.invocations.create(id)
  t.same((await theirs.list()).data, [])
  for (const call of [
    () => theirs.retrieve(id),
    () => theirs.update(id, { name: 'x' }),
    () => theirs.pause(id),
    () => theirs.resume(id),
    () => theirs.delete(id),
    () => theirs.invocations.create(id),
    () => theirs.invocations.list(id),
    () => theirs.invocations.retrieve(invocation.id, { automation_id: id })
  ])
    t.match(await refusalOf(call()), { status: 404, code: 'RUN_ERR_SCHEDULE_NOT_FOUND' })

  const principal = { sub: 'ada', scopes: ['*'] }
  const support = app.registry.get('agent', 'support')!
  const given = { cron: '*/5 * * * *', input: 'Tick' }
  const plain = await runs.schedules.create(support, given, { principal })
  t.match(await mine.retrieve(plain.scheduleId), {
    name: 'support',
    expression: '*/5 * * * *',
    timezone: 'UTC'
  })
  const untimed = await runs.schedules.create(support, { cron: null, input: 'Tick' }, { principal })
  await runs.schedules.end(plain.scheduleId)
  for (const { scheduleId } of [untimed, plain])
    t.match(await refusalOf(mine.retrieve(scheduleId)), { status: 404 })
  t.same(
    (await collect(mine.list())).map((each) => each.id),
    [id]
  )
})

t.test('an app that keeps no schedules says so', async (t) => {
  const { add } = supportAgent('Hello')
  const { schedules: _, ...stores } = createInProcessStores()
  const { client } = await agentsApp(t, { add, engine: { stores } })
  const { automations } = client().beta.agents
  for (const call of [
    () => automations.create(daily),
    () => automations.list(),
    () => automations.retrieve('x')
  ])
    t.match(await refusalOf(call()), { status: 400, code: 'OPENAI_ERR_UNSUPPORTED', message: /no schedules/ })
})
