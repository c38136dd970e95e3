import { randomUUID } from 'node:crypto'
import type { ScheduleState, StoredSchedule, Stores } from '@svc/contract'
import { codeOf, HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { storedRun, textEntry } from './stored-run.ts'

/** What the contract of a store of schedules needs. */
export type ScheduleStores = Pick<Stores, 'runs' | 'log' | 'checkpoints'> &
  Required<Pick<Stores, 'queue' | 'schedules'>>

const ECHO = { registry: 'global', kind: 'agent', name: 'echo' } as const
const MINUTE = 60_000
const HOUR = 3_600_000

/** Creates a schedule of every minute, due at 60,000. */
export function storedSchedule(fields: Partial<StoredSchedule> = {}): StoredSchedule {
  return {
    scheduleId: randomUUID(),
    ...ECHO,
    owner: 'ada',
    createdAt: 1_000,
    updatedAt: 1_000,
    revision: 1,
    plan: {
      cron: '* * * * *',
      timeZone: 'UTC',
      at: null,
      input: 'hello',
      sessionId: null,
      metadata: null,
      catchUp: 'last',
      enabled: true,
      principal: { sub: 'ada', scopes: ['agents:run'] },
      surface: null,
      guarded: false
    },
    nextAt: MINUTE,
    endedAt: null,
    lastAt: null,
    lastRunId: null,
    lastError: null,
    ...fields
  }
}

/** A run that a schedule puts into the queue. */
const queuedStart = () => ({
  run: storedRun({ epoch: 0, queuedAt: 1_000 }),
  first: textEntry(1),
  checkpoint: { input: 'hello' }
})
const fired = (runId: string | null, nextAt: number | null): ScheduleState => ({
  nextAt,
  endedAt: nextAt === null ? MINUTE : null,
  lastAt: MINUTE,
  lastRunId: runId,
  lastError: null
})

/** The contract of every `ScheduleStore`. */
export function scheduleStoreContract(t: ContractTest, make: MakeStore<ScheduleStores>): void {
  const test = (name: string, run: (t: ContractTest, stores: ScheduleStores) => Promise<void>) =>
    withStore(t, make, name, run)
  const add = async ({ schedules }: ScheduleStores, fields: Partial<StoredSchedule> = {}) => {
    const schedule = storedSchedule(fields)
    await schedules.create(schedule, 1_000)
    return schedule
  }
  const countRuns = async ({ runs }: ScheduleStores) => (await runs.list({ limit: 100 })).runs.length

  test('keeps schedules as they are, until they are removed', async (t, stores) => {
    const { schedules } = stores
    const { plan } = storedSchedule()
    const kept = await add(stores, {
      owner: HOSTILE_TEXT,
      plan: { ...plan, input: { [HOSTILE_TEXT]: [HOSTILE_TEXT] }, metadata: { a: HOSTILE_TEXT } }
    })
    const { scheduleId } = kept
    t.same(await schedules.get(scheduleId), kept)
    t.equal(await schedules.get('missing'), undefined)
    t.equal(await schedules.remove(scheduleId), true)
    t.equal(await schedules.remove(scheduleId), false)
    t.equal(await schedules.get(scheduleId), undefined)
    t.equal(await schedules.nextAt([ECHO]), undefined)
  })

  test('lists the newest first, of one owner or of all, in pages', async (t, stores) => {
    const { schedules } = stores
    const added: StoredSchedule[] = []
    for (let n = 0; n < 6; n++)
      added.push(await add(stores, { createdAt: 1_000 + (n >> 1), owner: n === 3 ? 'grace' : 'ada' }))
    const idsOf = async (owner?: string) => {
      const ids: string[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const query = { limit: 2, ...(owner !== undefined && { owner }), ...(cursor && { cursor }) }
        const page = await schedules.list(query)
        ids.push(...page.schedules.map(({ scheduleId }) => scheduleId))
        cursor = page.nextCursor
      }
      return ids
    }
    const newest = added.toSorted(
      (a, b) => b.createdAt - a.createdAt || (a.scheduleId < b.scheduleId ? 1 : -1)
    )
    const ids = newest.map(({ scheduleId }) => scheduleId)
    t.same(await idsOf(), ids)
    t.same(
      await idsOf('ada'),
      newest.filter(({ owner }) => owner === 'ada').map((each) => each.scheduleId)
    )
    t.same(await idsOf('grace'), [added[3]!.scheduleId])
    t.same(await idsOf('alan'), [])
    t.equal(await codeOf(async () => schedules.list({ limit: 1, cursor: 'x' })), 'REG_ERR_BAD_CURSOR')
  })

  test('limits the schedules of an owner that have not ended', async (t, { schedules }) => {
    const create = (fields: Partial<StoredSchedule>) =>
      codeOf(async () => schedules.create(storedSchedule(fields), 2))
    const ended = storedSchedule({ nextAt: null, endedAt: 5 })
    await schedules.create(ended, 2)
    t.equal(await create({}), 'none')
    t.equal(await create({ nextAt: null }), 'none')
    t.equal(await create({}), 'RUN_ERR_TOO_MANY_SCHEDULES')
    t.equal(await create({ owner: 'grace' }), 'none')
    const reopened = { ...ended, revision: 2, endedAt: null, nextAt: HOUR }
    t.equal(await codeOf(async () => schedules.change(reopened, 2)), 'RUN_ERR_TOO_MANY_SCHEDULES')
    t.equal(await schedules.change(reopened, 3), true)
  })

  test('a change counts only if nothing else has changed the schedule', async (t, stores) => {
    const { schedules } = stores
    const schedule = await add(stores)
    const one = { ...schedule, revision: 2, nextAt: HOUR, updatedAt: 2_000 }
    const changes = await Promise.all([1, 2, 3].map(async () => schedules.change(one, 9)))
    t.same(changes.filter(Boolean), [true])
    t.same(await schedules.get(schedule.scheduleId), one)
    t.equal(await schedules.fire(schedule, fired(null, HOUR)), false, 'it was read before the change')
    t.equal(await schedules.change({ ...one, scheduleId: 'missing' }, 9), false)
  })

  test('finds what is due of the runnables of a process, the longest overdue first', async (t, stores) => {
    const { schedules } = stores
    const later = await add(stores, { nextAt: 3 * MINUTE })
    const first = await add(stores, { nextAt: MINUTE })
    const other = await add(stores, { name: 'other', nextAt: 2 * MINUTE })
    await add(stores, { nextAt: null })
    const OTHER = { ...ECHO, name: 'other' }
    const due = async (names: (typeof ECHO | typeof OTHER)[], now: number, limit = 10) =>
      (await schedules.listDue({ runnables: names, now, limit })).map(({ scheduleId }) => scheduleId)
    t.equal(await schedules.nextAt([]), undefined)
    t.equal(await schedules.nextAt([ECHO]), MINUTE)
    t.equal(await schedules.nextAt([OTHER]), 2 * MINUTE)
    t.equal(await schedules.nextAt([{ ...ECHO, registry: 'b' }]), undefined)
    t.same(await due([ECHO, OTHER], MINUTE - 1), [])
    t.same(await due([ECHO, OTHER], MINUTE), [first.scheduleId])
    t.same(await due([ECHO], HOUR), [first.scheduleId, later.scheduleId])
    t.same(await due([ECHO, OTHER], HOUR), [first.scheduleId, other.scheduleId, later.scheduleId])
    t.same(await due([ECHO, OTHER], HOUR, 2), [first.scheduleId, other.scheduleId])
    t.same(await due([], HOUR), [])
    t.same(await schedules.listDue({ runnables: [OTHER], now: HOUR, limit: 9 }), [other])
  })

  test('fires an instant once, however many try, and queues its run with it', async (t, stores) => {
    const { schedules, queue, checkpoints, log } = stores
    const schedule = await add(stores)
    const starts = Array.from({ length: 20 }, queuedStart)
    const outcomes = await Promise.all(
      starts.map(async (start) => schedules.fire(schedule, fired(start.run.runId, 2 * MINUTE), start))
    )
    t.equal(outcomes.filter(Boolean).length, 1)
    const { run } = starts[outcomes.indexOf(true)]!
    t.equal(await countRuns(stores), 1)
    const stored = (await schedules.get(schedule.scheduleId))!
    t.same(stored, { ...schedule, ...fired(run.runId, 2 * MINUTE), revision: 2 })
    t.same(await log.read(run.runId, 0, { entries: 9, bytes: 9_000 }), [textEntry(1)])
    t.same((await checkpoints.load(run.runId))?.state, { input: 'hello' })
    const next = await queue.next({ runnables: [ECHO], perOwner: 5, unlimited: 'anonymous' })
    t.equal(next?.runId, run.runId)
    t.equal(
      await schedules.fire(stored, { ...stored, nextAt: HOUR }),
      true,
      'an instant may pass without a run'
    )
    t.equal((await schedules.get(schedule.scheduleId))?.nextAt, HOUR)
    t.equal(await countRuns(stores), 1)
  })

  test('a removed schedule does not fire', async (t, stores) => {
    const schedule = await add(stores)
    await stores.schedules.remove(schedule.scheduleId)
    const start = queuedStart()
    t.equal(await stores.schedules.fire(schedule, fired(start.run.runId, HOUR), start), false)
    t.equal(await countRuns(stores), 0)
  })

  test('records an error of schedules that are long overdue, which stay due', async (t, { schedules }) => {
    const [overdue, due, off] = [
      storedSchedule({ nextAt: 1 }),
      storedSchedule({ nextAt: 5 }),
      storedSchedule({ nextAt: null })
    ]
    for (const each of [overdue, due, off]) await schedules.create(each, 9)
    for (const _ of [1, 2]) await schedules.markOverdue(5, 'RUN_ERR_X')
    t.same(await schedules.get(overdue.scheduleId), { ...overdue, lastError: 'RUN_ERR_X' })
    t.same(await schedules.get(due.scheduleId), due)
    t.same(await schedules.get(off.scheduleId), off)
    t.equal(await schedules.fire(overdue, fired(null, HOUR)), true, 'it may still fire')
  })

  test('sweeps what ended long ago', async (t, stores) => {
    const now = 365 * 24 * HOUR
    const old = await add(stores, { nextAt: null, endedAt: 1 })
    const recent = await add(stores, { nextAt: null, endedAt: now })
    const active = await add(stores)
    t.equal(await stores.schedules.sweep(now), 1)
    t.equal(await stores.schedules.get(old.scheduleId), undefined)
    for (const { scheduleId } of [recent, active]) t.ok(await stores.schedules.get(scheduleId))
  })
}
