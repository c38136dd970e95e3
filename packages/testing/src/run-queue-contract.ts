import type { NextQuery, StoredRun, Stores } from '@svc/contract'
import { withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { completed, storedRun, textEntry } from './stored-run.ts'

/** What the contract of a queue needs. */
export type QueueStores = Pick<Stores, 'runs' | 'log' | 'checkpoints'> & Required<Pick<Stores, 'queue'>>

const ECHO = { registry: 'global', kind: 'agent', name: 'echo' } as const
const any: NextQuery = { runnables: [ECHO], perOwner: 100, unlimited: 'anonymous' }

let lastTime = 1_000
const queuedRun = (fields: Partial<StoredRun> = {}): StoredRun => {
  const queuedAt = ++lastTime
  return storedRun({ epoch: 0, queuedAt, createdAt: queuedAt, ...fields })
}

/** The contract of every `RunQueue`. */
export function runQueueContract(t: ContractTest, make: MakeStore<QueueStores>): void {
  const test = (name: string, run: (t: ContractTest, stores: QueueStores) => Promise<void>) =>
    withStore(t, make, name, run)
  const add = async ({ queue }: QueueStores, ...runs: StoredRun[]) => {
    for (const run of runs) await queue.add(run, textEntry(1), { input: run.runId })
    return runs.map(({ runId }) => runId)
  }
  const ownersOf = async ({ queue }: QueueStores, count: number, query = any) => {
    const owners: (string | undefined)[] = []
    for (let index = 0; index < count; index++) owners.push((await queue.next(query))?.owner)
    return owners
  }

  test('a waiting run has its record, first part and checkpoint, and belongs to no process', async (t, stores) => {
    const { queue, runs, log, checkpoints } = stores
    t.equal(await queue.isWaiting(), false)
    const [others, run] = [[queuedRun({ owner: 'grace' }), queuedRun()], queuedRun()]
    await add(stores, ...others, run)
    t.same(await runs.get(run.runId), run)
    const { queuePosition, status } = (await runs.find(run.runId))!
    t.same({ queuePosition, status }, { queuePosition: 2, status: 'submitted' })
    const { runs: listed } = await runs.list({ limit: 10 })
    t.same(
      listed.map((each) => each.queuePosition),
      [2, 1, 1]
    )
    t.same(await log.read(run.runId, 0, { entries: 9, bytes: 9_000 }), [textEntry(1)])
    t.same((await checkpoints.load(run.runId))?.state, { input: run.runId })
    t.same((await runs.listLeft({ limit: 10 })).runs, [])
    t.equal(await queue.isWaiting(), true)
  })

  test('begins a run once, as one that its process has', async (t, stores) => {
    const { queue, runs, log } = stores
    const [runId] = await add(stores, queuedRun())
    const next = await queue.next(any)
    t.same(next, { ...ECHO, runId, owner: 'ada', epoch: 1 })
    t.equal(await queue.next(any), undefined)
    t.equal(await queue.isWaiting(), false)
    const { status, queuePosition } = (await runs.find(runId!))!
    t.same({ status, queuePosition }, { status: 'working', queuePosition: null })
    await log.append(runId!, 1, [textEntry(2)], completed)
    t.equal((await runs.find(runId!))?.status, 'completed')
  })

  test('takes the owner with the fewest runs in progress, then the oldest run', async (t, stores) => {
    for (const owner of ['ada', 'ada', 'ada', 'ada', 'grace', 'grace', 'alan'])
      await add(stores, queuedRun({ owner }))
    t.same(await ownersOf(stores, 8), ['ada', 'grace', 'alan', 'ada', 'grace', 'ada', 'ada', undefined])
  })

  test('takes runs of one owner in the order in which they were added', async (t, stores) => {
    const added = await add(stores, queuedRun(), queuedRun(), queuedRun())
    const taken = []
    for (const _ of added) taken.push((await stores.queue.next(any))?.runId)
    t.same(taken, added)
  })

  test('an owner at the limit waits until a run ends, unless without limit', async (t, stores) => {
    const { queue, log } = stores
    const [first] = await add(stores, queuedRun(), queuedRun(), queuedRun())
    await add(stores, queuedRun({ owner: 'anonymous' }), queuedRun({ owner: 'anonymous' }))
    const limited = { ...any, perOwner: 1 }
    t.same(await ownersOf(stores, 4, limited), ['ada', 'anonymous', 'anonymous', undefined])
    await log.append(first!, 1, [textEntry(2)], completed)
    queue.ended?.(first!)
    t.same(await ownersOf(stores, 2, limited), ['ada', undefined])
    t.equal((await queue.next(any))?.owner, 'ada')
  })

  test('an owner has one limit for all its runs', async (t, stores) => {
    const { queue, log } = stores
    const other = { ...ECHO, name: 'other' }
    const [first] = await add(
      stores,
      queuedRun(),
      queuedRun({ name: 'other' }),
      queuedRun({ owner: 'grace' })
    )
    const both = { ...any, runnables: [other, ECHO], perOwner: 1 }
    t.same(await ownersOf(stores, 3, both), ['ada', 'grace', undefined])
    await log.append(first!, 1, [textEntry(2)], completed)
    queue.ended?.(first!)
    t.equal(await queue.next({ ...both, runnables: [ECHO] }), undefined)
    t.equal((await queue.next(both))?.name, 'other')
  })

  test('the places of waiting runs close up when others go', async (t, stores) => {
    const { queue, log, runs } = stores
    const [first, second, third, last] = await add(stores, queuedRun(), queuedRun(), queuedRun(), queuedRun())
    await add(stores, queuedRun({ owner: 'grace' }))
    const placesOf = async () => {
      const { runs: listed } = await runs.list({ owner: 'ada', limit: 10 })
      return listed.map(({ queuePosition }) => queuePosition)
    }
    t.same(await placesOf(), [4, 3, 2, 1])
    await queue.withdraw(second!)
    await log.append(second!, 1, [textEntry(2)], { status: 'canceled', at: 2_000 })
    queue.ended?.(second!)
    t.same(await placesOf(), [3, 2, null, 1])
    t.equal((await queue.next(any))?.runId, first)
    t.same(await placesOf(), [2, 1, null, null])
    t.same([(await runs.find(third!))?.queuePosition, (await runs.find(last!))?.queuePosition], [1, 2])
  })

  test('calls at once exceed no limit, and give no run twice', async (t, stores) => {
    for (let index = 0; index < 6; index++) await add(stores, queuedRun(), queuedRun({ owner: 'grace' }))
    const limited = { ...any, perOwner: 2 }
    const taken = await Promise.all(Array.from({ length: 20 }, async () => stores.queue.next(limited)))
    const found = taken.filter((next) => next !== undefined)
    t.equal(new Set(found.map(({ runId }) => runId)).size, 4)
    t.same(found.map(({ owner }) => owner).sort(), ['ada', 'ada', 'grace', 'grace'])
  })

  test('leaves out runnables that a process lacks', async (t, stores) => {
    const [first] = await add(stores, queuedRun({ name: 'other' }), queuedRun())
    t.equal(await stores.queue.next({ ...any, runnables: [] }), undefined)
    t.same((await stores.queue.next(any))?.name, 'echo')
    t.equal(await stores.queue.next(any), undefined)
    const all = [ECHO, { ...ECHO, registry: 'b', name: 'other' }, { ...ECHO, name: 'other' }]
    t.equal((await stores.queue.next({ ...any, runnables: all }))?.runId, first)
  })

  test('gives a waiting run to be canceled once, and none that has begun', async (t, stores) => {
    const { queue, log, runs } = stores
    const [first, second] = await add(stores, queuedRun(), queuedRun())
    const withdrawn = await Promise.all([1, 2, 3].map(async () => queue.withdraw(first!)))
    t.same(
      withdrawn.filter((epoch) => epoch !== undefined),
      [1]
    )
    await log.append(first!, 1, [textEntry(2)], { status: 'canceled', at: 2_000 })
    t.equal((await queue.next(any))?.runId, second)
    t.equal(await queue.withdraw(second!), undefined)
    t.equal(await queue.withdraw('missing'), undefined)
    t.equal((await runs.find(first!))?.status, 'canceled')
  })

  test('adds one run per start key', async (t, { queue, runs }) => {
    const startKey = { key: 'k', hash: 'h' }
    const all = Array.from({ length: 10 }, () => queuedRun({ startKey }))
    const earlier = await Promise.all(all.map(async (run) => queue.add(run, textEntry(1), {})))
    const [winner] = all.filter((_, index) => earlier[index] === undefined)
    t.equal(earlier.filter((run) => run?.runId === winner?.runId).length, 9)
    t.equal((await queue.next(any))?.runId, winner?.runId)
    t.equal(await queue.next(any), undefined)
    t.same(await queue.add(queuedRun({ startKey }), textEntry(1), {}), await runs.find(winner!.runId))
  })

  test('takes a run that its process has created, unless it has ended', async (t, stores) => {
    const { queue, runs, log } = stores
    const [run, ended] = [queuedRun(), queuedRun()]
    for (const each of [run, ended]) await runs.create({ ...each, epoch: 1, queuedAt: null })
    await log.append(ended.runId, 1, [textEntry(1)], completed)
    await add(stores, run, ended)
    t.equal((await runs.find(run.runId))?.queuePosition, 1)
    t.same((await runs.listLeft({ limit: 10 })).runs, [])
    t.equal((await queue.next(any))?.runId, run.runId)
    t.equal(await queue.next(any), undefined)
    t.equal((await runs.find(ended.runId))?.status, 'completed')
  })

  test('is served by as many calls at once as asked for, until it is stopped', async (t, stores) => {
    const { queue, log } = stores
    const runs = Array.from({ length: 12 }, () => queuedRun())
    await add(stores, ...runs.slice(0, 6))
    const done = Promise.withResolvers<void>()
    let [busy, most, begun] = [0, 0, 0]
    const stop = await queue.serve(3, async () => {
      const next = await queue.next(any)
      if (next === undefined) return false
      most = Math.max(most, ++busy)
      await new Promise((resolve) => setImmediate(resolve))
      await log.append(next.runId, next.epoch, [textEntry(2)], completed)
      busy--
      if (++begun === 12) done.resolve()
      return true
    })
    await add(stores, ...runs.slice(6))
    await done.promise
    await stop()
    t.equal(busy, 0)
    t.ok(most <= 3, `${most} at once`)
    await add(stores, queuedRun())
    t.equal(await queue.isWaiting(), true)
  })
}
