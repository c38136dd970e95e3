import { setTimeout as pause } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import {
  createInProcessStores,
  createRegistry,
  createRunEngine,
  defineRunnable,
  type Principal,
  type RunEngine,
  type RunEngineOptions,
  type Runnable,
  type Stores,
  type StoredSchedule
} from '@svc/registry'
import { codeOf } from '@svc/testing'
import t from 'tap'
import { buildEngine } from '../helpers/collect.ts'
import { cluster } from '../helpers/engine-cluster.ts'

const keepAlive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(keepAlive))

const MINUTE = 60_000
const HOUR = 3_600_000
const EVERY_MINUTE = { cron: '* * * * *', input: 'tick' }
const NEW_YEAR = { cron: '0 0 1 1 *', input: 'happy new year' }
const ada: Principal = { sub: 'ada', scopes: ['agents:run'] }

/** A runnable that keeps what its runs were asked, and calls back. */
function createTicker(begun: (input: unknown) => void = () => {}) {
  const contexts: { input: unknown; sessionId: string; sub: string; metadata: object }[] = []
  const runnable = defineRunnable({
    kind: 'agent',
    name: 'ticker',
    resumable: true,
    run(input, { sessionId, principal, metadata }) {
      contexts.push({ input, sessionId, sub: principal.sub, metadata })
      begun(input)
      return 'done'
    }
  })
  return { runnable, contexts }
}

/** Sets when a schedule is due, as if time had passed. */
async function setNext({ schedules }: Stores, scheduleId: string, nextAt: number): Promise<StoredSchedule> {
  const stored = (await schedules!.get(scheduleId))!
  const { plan, revision } = stored
  const moved = plan.at === null ? plan : { ...plan, at: nextAt }
  const due = { ...stored, plan: moved, revision: revision + 1, nextAt }
  await schedules!.change(due, Infinity)
  return due
}

/** Lets an engine look for what is due, and waits until it is fired. */
async function look(engine: RunEngine, runnable: Runnable): Promise<void> {
  await engine.resume(runnable)
  await engine.schedules.idle()
}

const runsOf = async (engine: RunEngine) => (await engine.list({ limit: 1_000 })).runs

/** An engine on stores of its own, and a ticker. */
function build(t: Parameters<typeof buildEngine>[0], options: RunEngineOptions = {}) {
  const stores = createInProcessStores()
  const engine = buildEngine(t, { stores, ...options })
  return { stores, engine, ...createTicker() }
}

t.test('an instant fires at its time, as a run of its owner', async (t) => {
  const fired = Promise.withResolvers<unknown>()
  const engine = buildEngine(t)
  const { runnable, contexts } = createTicker(fired.resolve)
  const at = new Date(Date.now() + 500)
  const given = { at, input: 'hello', sessionId: 's', metadata: { customer: 'c-17' } }
  const created = await engine.schedules.create(runnable, given, { principal: ada })
  t.match(created, { owner: 'ada', kind: 'agent', name: 'ticker', at: at.toISOString(), catchUp: 'last' })
  t.match(created, { enabled: true, nextAt: at.toISOString(), input: 'hello', lastAt: undefined })
  t.equal(await fired.promise, 'hello')
  const metadata = { customer: 'c-17', scheduleId: created.scheduleId, scheduledAt: at.toISOString() }
  t.same(contexts, [{ input: 'hello', sessionId: 's', sub: 'ada', metadata }])
  const [run] = await runsOf(engine)
  t.match(run, { owner: 'ada', sessionId: 's' })
  const schedule = (await engine.schedules.get(created.scheduleId))!
  t.match(schedule, { lastAt: at.toISOString(), lastRunId: run!.runId })
  t.notOk('nextAt' in schedule, 'it fires no more')
})

t.test('without a session each run has a new one', async (t) => {
  const { engine, stores, runnable, contexts } = build(t)
  const { scheduleId } = await engine.schedules.create(runnable, EVERY_MINUTE)
  for (const _ of [1, 2]) {
    await setNext(stores, scheduleId, Date.now() - 1)
    await look(engine, runnable)
  }
  while (contexts.length < 2) await pause(1)
  t.not(contexts[0]!.sessionId, contexts[1]!.sessionId)
})

t.test('missed instants fire once for the latest, or not at all', async (t) => {
  const { engine, stores, runnable } = build(t)
  const last = await engine.schedules.create(runnable, { cron: '*/5 * * * *', input: 'last' })
  const none = await engine.schedules.create(runnable, { ...NEW_YEAR, catchUp: 'none' })
  const over = await engine.schedules.create(runnable, {
    at: new Date(Date.now() + HOUR),
    input: 'x',
    catchUp: 'none'
  })
  const missed = Date.now() - 24 * HOUR
  for (const { scheduleId } of [last, none, over]) await setNext(stores, scheduleId, missed)
  await engine.close()

  const before = Date.now()
  const restarted = buildEngine(t, { stores })
  await restarted.resume(runnable)
  await restarted.recover()
  await restarted.schedules.idle()
  t.equal((await runsOf(restarted)).length, 1)
  const caughtUp = (await restarted.schedules.get(last.scheduleId))!
  const lastAt = Date.parse(caughtUp.lastAt!)
  t.equal(lastAt % (5 * MINUTE), 0)
  t.ok(before - lastAt < 5 * MINUTE, 'the latest one')
  t.ok(Date.parse(caughtUp.nextAt!) > before)
  const skipped = (await restarted.schedules.get(none.scheduleId))!
  t.equal(skipped.lastAt, undefined)
  t.equal(skipped.nextAt, none.nextAt, 'the next new year')
  t.equal((await restarted.schedules.get(over.scheduleId))!.nextAt, undefined)
})

t.test('an instant that is a little late has not been missed', async (t) => {
  const { engine, stores, runnable } = build(t)
  const { scheduleId } = await engine.schedules.create(runnable, { ...NEW_YEAR, catchUp: 'none' })
  await setNext(stores, scheduleId, Date.now() - 5_000)
  await look(engine, runnable)
  t.equal((await runsOf(engine)).length, 1)
})

t.test('a schedule waits for its runnable, and says so', async (t) => {
  const { engine, stores, runnable } = build(t)
  const { scheduleId } = await engine.schedules.create(runnable, EVERY_MINUTE)
  await engine.close()
  await setNext(stores, scheduleId, Date.now() - HOUR)
  const other = buildEngine(t, { stores, resumeTimeout: 0 })
  await other.recover()
  await other.schedules.idle()
  const waiting = (await other.schedules.get(scheduleId))!
  t.equal(waiting.lastError, 'RUN_ERR_SCHEDULE_NO_RUNNABLE')
  t.equal(
    await codeOf(() => other.schedules.update(scheduleId, { input: 'x' })),
    'RUN_ERR_SCHEDULE_NO_RUNNABLE'
  )
  t.equal((await runsOf(other)).length, 0)
  await look(other, runnable)
  t.equal((await runsOf(other)).length, 1)
  t.equal((await other.schedules.get(scheduleId))?.lastError, undefined)
})

t.test('the policy is asked again each time, and a refusal is kept until the next run', async (t) => {
  let isAllowed = true
  const asked: unknown[] = []
  const authorize = (...args: unknown[]) => {
    asked.push(args)
    return isAllowed ? ({ allowed: true } as const) : ({ allowed: false } as const)
  }
  const { engine, stores, runnable } = build(t)
  const registry = createRegistry()
  registry.add(runnable)
  const { surface } = engine.surfaces.add({ surface: 'test', registry, policy: { authorize, isOwn: true } })
  const options = { principal: ada, surface, registry: 'global' }
  const { scheduleId } = await engine.schedules.create(runnable, EVERY_MINUTE, options)
  await engine.resume(runnable, 'global')
  const fire = async () => {
    await setNext(stores, scheduleId, Date.now() - 1)
    await engine.resume(runnable, 'global')
    await engine.schedules.idle()
    return (await engine.schedules.get(scheduleId))!
  }
  t.equal((await fire()).lastError, undefined)
  t.same(asked.at(-1), [ada, 'run', { kind: 'agent', name: 'ticker' }])
  isAllowed = false
  const refused = await fire()
  t.equal(refused.lastError, 'RUN_ERR_SCHEDULE_REFUSED')
  t.ok(Date.parse(refused.nextAt!) > Date.now(), 'it goes on')
  t.equal((await runsOf(engine)).length, 1)
  isAllowed = true
  t.equal((await fire()).lastError, undefined)
  t.equal((await runsOf(engine)).length, 2)
})

t.test('a guarded schedule whose surface is gone runs nothing without a policy', async (t) => {
  const { engine, stores, runnable } = build(t)
  const authorize = () => ({ allowed: true }) as const
  const options = { principal: ada, authorize, surface: 'gone' }
  const { scheduleId } = await engine.schedules.create(runnable, EVERY_MINUTE, options)
  await setNext(stores, scheduleId, Date.now() - 1)
  await look(engine, runnable)
  t.equal((await engine.schedules.get(scheduleId))?.lastError, 'RUN_ERR_SCHEDULE_REFUSED')
})

t.test('an input that the runnable takes no more is an error of the schedule', async (t) => {
  const { engine, stores, runnable } = build(t)
  const { scheduleId } = await engine.schedules.create(runnable, EVERY_MINUTE)
  const { kind, name } = runnable
  const strict = defineRunnable({ kind, name, resumable: true, inputSchema: Type.Object({}), run: () => 'x' })
  await setNext(stores, scheduleId, Date.now() - 1)
  engine.release(runnable)
  await look(engine, strict)
  t.equal((await engine.schedules.get(scheduleId))?.lastError, 'RUN_ERR_BAD_INPUT')
  t.equal((await runsOf(engine)).length, 0)
})

t.test('the metadata of a run name its schedule and its instant', async (t) => {
  const { engine, stores, runnable } = build(t)
  const { schedules } = engine
  const metadata = Object.fromEntries(Array.from({ length: 14 }, (_, at) => [`k${at}`, 'v']))
  const { scheduleId } = await schedules.create(runnable, { ...NEW_YEAR, metadata })
  const { nextAt } = await setNext(stores, scheduleId, Date.now() - 1_000)
  await look(engine, runnable)
  const marks = { scheduleId, scheduledAt: new Date(nextAt!).toISOString() }
  const [run] = await runsOf(engine)
  t.same(run?.metadata, { ...metadata, ...marks })
  const found = await stores.runs.list({ metadata: { key: 'scheduleId', value: scheduleId }, limit: 10 })
  t.same(
    found.runs.map(({ runId }) => runId),
    [run!.runId]
  )
  const create = () => schedules.create(runnable, { ...NEW_YEAR, metadata: { ...metadata, k14: 'v' } })
  t.equal(await codeOf(create), 'RUN_ERR_BAD_SCHEDULE')
})

t.test('a schedule without times fires only when it has some', async (t) => {
  const { engine, runnable } = build(t)
  const { schedules } = engine
  const { scheduleId, ...created } = await schedules.create(runnable, { cron: null, input: 'a' })
  t.same([created.cron, created.at, created.nextAt, created.enabled], [undefined, undefined, undefined, true])
  t.match(await schedules.update(scheduleId, { cron: '0 9 * * *' }), { timeZone: 'UTC', nextAt: /T09:00/ })
  const cleared = await schedules.update(scheduleId, { cron: null })
  t.notOk('cron' in cleared || 'timeZone' in cleared || 'nextAt' in cleared || 'endedAt' in cleared)
  for (const more of [{ at: new Date(Date.now() + HOUR) }, { timeZone: 'UTC' }])
    t.equal(await codeOf(() => schedules.update(scheduleId, { cron: null, ...more })), 'RUN_ERR_BAD_SCHEDULE')
  t.equal(await codeOf(() => schedules.update(scheduleId, { timeZone: 'UTC' })), 'RUN_ERR_BAD_SCHEDULE')
})

t.test('a schedule that is ended fires no more, counts no more, and goes with the runs', async (t) => {
  const { engine, stores, runnable } = build(t, { limits: { maxSchedulesPerOwner: 1 } })
  const { schedules } = engine
  const settings = { wire: { name: 'Daily' } }
  const { scheduleId } = await schedules.create(runnable, NEW_YEAR, { settings })
  const ended = await schedules.end(scheduleId)
  t.match(ended, { enabled: false, endedAt: /Z$/, settings })
  t.notOk('nextAt' in ended)
  t.same(await schedules.end(scheduleId), ended)
  const renamed = await schedules.update(
    scheduleId,
    {},
    { settings: (before) => ({ ...before, wire: { name: 'Yearly' } }) }
  )
  t.match(renamed, { endedAt: ended.endedAt, settings: { wire: { name: 'Yearly' } } })
  await schedules.create(runnable, NEW_YEAR)
  t.equal(await codeOf(() => schedules.update(scheduleId, { enabled: true })), 'RUN_ERR_TOO_MANY_SCHEDULES')
  await stores.schedules!.sweep(Date.now() + 366 * 24 * HOUR)
  t.equal(await schedules.get(scheduleId), undefined)
  t.equal(await codeOf(() => schedules.end(scheduleId)), 'RUN_ERR_SCHEDULE_NOT_FOUND')
})

t.test('a change replaces what it names', async (t) => {
  const { engine, runnable } = build(t)
  const { schedules } = engine
  const given = { cron: '0 9 * * *', timeZone: 'Europe/Berlin', input: 'a', metadata: { a: '1' } }
  const created = await schedules.create(runnable, given, { principal: ada })
  const { scheduleId } = created
  const update = (change: Parameters<typeof schedules.update>[1]) => schedules.update(scheduleId, change)
  t.match(await update({ input: 'b' }), { input: 'b', nextAt: created.nextAt, metadata: { a: '1' } })
  t.match(await update({ cron: '0 10 * * *' }), { cron: '0 10 * * *', timeZone: 'Europe/Berlin' })
  t.match(await update({ timeZone: 'UTC' }), { nextAt: /T10:00:00.000Z$/ })
  const off = await update({ enabled: false })
  t.notOk('nextAt' in off)
  t.match(await update({ enabled: true, metadata: {} }), { nextAt: /T10:00:00.000Z$/ })
  t.notOk('metadata' in (await schedules.get(scheduleId))!)
  const at = new Date(Date.now() + HOUR).toISOString()
  const once = await update({ at, sessionId: 's' })
  t.match(once, { at, nextAt: at, sessionId: 's' })
  t.notOk('cron' in once || 'timeZone' in once)
  t.same(await schedules.get(scheduleId), once)
  t.equal(await schedules.remove(scheduleId), true)
  t.equal(await schedules.remove(scheduleId), false)
  t.equal(await codeOf(() => update({ enabled: true })), 'RUN_ERR_SCHEDULE_NOT_FOUND')
})

t.test('bad schedules are refused by what is wrong with them', async (t) => {
  const { engine, runnable } = build(t, { limits: { maxSchedulesPerOwner: 2 } })
  const create = (given: object, options = {}, what: Runnable = runnable) =>
    codeOf(() => engine.schedules.create(what, given as typeof EVERY_MINUTE, options))
  const later = new Date(Date.now() + HOUR)
  t.equal(await create({ input: 'x' }), 'RUN_ERR_BAD_SCHEDULE')
  t.equal(await create({ ...EVERY_MINUTE, at: later }), 'RUN_ERR_BAD_SCHEDULE')
  t.equal(await create({ at: later, timeZone: 'UTC', input: 'x' }), 'RUN_ERR_BAD_SCHEDULE')
  t.equal(await create({ at: '2030-01-01T00:00:00', input: 'x' }), 'RUN_ERR_BAD_SCHEDULE', 'no zone')
  t.equal(await create({ at: '2030-02-31T00:00:00Z', input: 'x' }), 'RUN_ERR_BAD_SCHEDULE', 'no such day')
  t.equal(await create({ at: new Date(NaN), input: 'x' }), 'RUN_ERR_BAD_SCHEDULE')
  t.equal(await create({ at: new Date(Date.now() - 1), input: 'x' }), 'RUN_ERR_SCHEDULE_PAST')
  t.equal(await create({ ...EVERY_MINUTE, whenBusy: 'sometimes' as never }), 'RUN_ERR_BAD_SCHEDULE')
  t.equal(await create({ cron: '* * * * * *', input: 'x' }), 'RUN_ERR_SCHEDULE_TOO_OFTEN')
  t.equal(await create({ ...EVERY_MINUTE, timeZone: 'Mars' }), 'RUN_ERR_SCHEDULE_TIME_ZONE')
  t.equal(await create({ cron: '* * * * *' }), 'RUN_ERR_BAD_INPUT')
  const image = { type: 'image', mimeType: 'image/png' }
  t.equal(await create({ ...EVERY_MINUTE, input: [{ ...image, data: 'AAAA' }] }), 'RUN_ERR_SCHEDULE_BINARY')
  t.equal(await create(EVERY_MINUTE, { apiKey: () => 'k' }), 'RUN_ERR_NOT_QUEUEABLE')
  const fleeting = defineRunnable({ kind: 'agent', name: 'fleeting', run: () => 'x' })
  t.equal(await create(EVERY_MINUTE, {}, fleeting), 'RUN_ERR_NOT_QUEUEABLE')
  t.equal(await create({ ...EVERY_MINUTE, input: [{ ...image, url: 'https://example.org/a.png' }] }), 'none')
  t.equal(await create(EVERY_MINUTE), 'none')
  t.equal(await create(EVERY_MINUTE), 'RUN_ERR_TOO_MANY_SCHEDULES')
  t.equal(await create(EVERY_MINUTE, { principal: ada }), 'none', 'owners do not share a limit')

  const { schedules: _, ...stores } = createInProcessStores()
  const without = createRunEngine({ stores })
  t.teardown(() => without.close())
  const call = () => without.schedules.create(runnable, EVERY_MINUTE)
  t.equal(await codeOf(call), 'RUN_ERR_SCHEDULES_NOT_KEPT')
  const unrecorded = buildEngine(t, { record: { input: false } })
  t.equal(await codeOf(() => unrecorded.schedules.create(runnable, EVERY_MINUTE)), 'RUN_ERR_NOT_QUEUEABLE')
})

t.test('twenty engines on one store fire each instant once, by the clock of the store', async (t) => {
  let time = Date.parse('2026-01-01T00:00:30Z')
  const { runnable, contexts } = createTicker()
  const members = await cluster(t, [runnable], 20, {}, () => time)
  const [first] = members
  const { schedules } = first!.engine
  const { scheduleId, nextAt } = await schedules.create(runnable, EVERY_MINUTE)
  t.equal(nextAt, '2026-01-01T00:01:00.000Z')
  for (let instant = 1; instant <= 10; instant++) {
    time += MINUTE
    await Promise.all(members.map(({ engine }) => look(engine, runnable)))
    t.equal((await runsOf(first!.engine)).length, instant)
  }
  while (contexts.length < 10) await pause(1)
  const { lastAt, nextAt: next } = (await schedules.get(scheduleId))!
  t.same({ lastAt, next }, { lastAt: '2026-01-01T00:10:00.000Z', next: '2026-01-01T00:11:00.000Z' })
})
