import { setImmediate as turn } from 'node:timers/promises'
import type { RunStore } from '@svc/registry'
import { createTestCluster, steppedRunnable, type TestNode } from '@svc/testing'
import t, { type Test } from 'tap'
import { isEnd } from '../../../src/engine/log/log-reader.ts'
import { buildEngine, partsOf } from '../../helpers/collect.ts'
import { codeOf, requireWhole, textOf, stayAlive } from '../../helpers/engine-cluster.ts'

stayAlive(t)

/** A flow of two steps whose executions are counted, and a way to make engines for it. */
function setUp(t: Test) {
  const done: string[] = []
  const flow = steppedRunnable(['one', 'two'], (name) => {
    done.push(name)
    return name
  })
  const join = createTestCluster().join
  const serve = async (node: TestNode, runs: Partial<RunStore> = {}) => {
    const engine = buildEngine(t, { stores: { ...node.stores, runs: { ...node.stores.runs, ...runs } } })
    await engine.resume(flow)
    await engine.recover()
    return engine
  }
  return { done, flow, join, serve }
}

t.test('a run that is being loaded while its node is taken for dead is not executed there', async (t) => {
  const { done, join, serve } = setUp(t)
  const [first, second] = [join(), join()]
  const leased = Promise.withResolvers<void>()
  const reads = Promise.withResolvers<void>()
  let isHeld = false
  const loading = await serve(second, {
    async lease(runId) {
      const epoch = await second.stores.runs.lease(runId)
      isHeld = true
      leased.resolve()
      return epoch
    },
    async get(runId) {
      if (isHeld) await reads.promise
      return second.stores.runs.get(runId)
    }
  })
  const hanging = buildEngine(t, { stores: first.stores })
  const hung = steppedRunnable(['one', 'two'], (name) => (name === 'one' ? 'one' : new Promise(() => {})))
  const run = await hanging.start(hung, 'x')
  while ((await first.stores.log.read(run.runId, 0, { entries: 9, bytes: 999 })).length < 2) await turn()
  first.declareDead()
  await leased.promise

  second.declareDead()
  const third = await serve(join())
  const parts = await partsOf({ parts: (after) => third.parts(run.runId, after) })
  t.equal(textOf(parts), 'one;two;')
  await second.regainContact()
  reads.resolve()
  for (let count = 0; count < 50; count++) await turn()
  t.same(done, ['two'], 'the steps of a run that has ended are not recorded any more, and not repeated')
  t.equal(loading.active, 0)
  t.match(await first.stores.runs.get(run.runId), { status: 'completed', epoch: 3 })
})

t.test(
  'a start whose node dies before it is acknowledged is resumed, and a repetition gets its run',
  async (t) => {
    const { done, flow, join, serve } = setUp(t)
    const [first, second] = [join(), join()]
    const starting = await serve(first, {
      async create(run, maxPerOwner) {
        await first.stores.runs.create(run, maxPerOwner)
        return new Promise<never>(() => {})
      }
    })
    const startKey = { key: 'k', hash: 'h' }
    starting.start(flow, 'x', { startKey }).catch(() => {})
    while ((await first.stores.runs.list({ limit: 1 })).runs.length === 0) await turn()
    first.loseContact()
    first.declareDead()
    const other = await serve(second)
    const again = await other.start(flow, 'x', { startKey })
    t.equal(again.replayed, true)
    t.match(await again.result(), { text: 'one;two;' })
    t.same(done, ['one', 'two'])
  }
)

t.test('a run that is created after its node was taken for dead is left to others', async (t) => {
  const { done, flow, join, serve } = setUp(t)
  const [first, second] = [join(), join()]
  const isCreating = Promise.withResolvers<void>()
  const creates = Promise.withResolvers<void>()
  const starting = await serve(first, {
    async create(run, maxPerOwner) {
      const created = first.stores.runs.create(run, maxPerOwner)
      isCreating.resolve()
      await creates.promise
      return created
    }
  })
  const other = await serve(second)
  const started = starting.start(flow, 'x', { startKey: { key: 'k', hash: 'h' } })
  await isCreating.promise
  first.declareDead()
  await first.regainContact()
  creates.resolve()
  const { runId } = await started
  const parts = await partsOf({ parts: (after) => other.parts(runId, after) })
  requireWhole(t, parts)
  t.equal(textOf(parts), 'one;two;')
  t.same(done, ['one', 'two'])
})

for (const isDeathFirst of [false, true])
  t.test(
    `a run that a store failure stopped is loaded once ${isDeathFirst ? 'after' : 'before'} its node was taken for dead`,
    async (t) => {
      const { done, flow, join, serve } = setUp(t)
      const node = join()
      const { checkpoints, runs } = node.stores
      let isAway = false
      let leases = 0
      const loading = Promise.withResolvers<void>()
      const loads = Promise.withResolvers<void>()
      const works = Promise.withResolvers<void>()
      const stores = {
        ...node.stores,
        check() {
          if (isAway) throw new Error('away')
          works.resolve()
        },
        checkpoints: {
          ...checkpoints,
          async load(runId: string) {
            loading.resolve()
            await loads.promise
            return checkpoints.load(runId)
          }
        }
      }
      const engine = await serve(
        { ...node, stores },
        {
          recordStep(...step) {
            if (done.length > 1) return runs.recordStep(...step)
            isAway = true
            throw new Error('away')
          },
          lease(runId) {
            leases++
            return runs.lease(runId)
          }
        }
      )
      const run = await engine.start(flow, 'x')
      const dies = async () => {
        node.declareDead()
        await node.regainContact()
        await engine.recover()
      }
      while (!isAway) await turn()
      if (isDeathFirst) await dies()
      isAway = false
      await loading.promise
      if (!isDeathFirst) await dies()
      await works.promise
      for (let count = 0; count < 50; count++) await turn()
      loads.resolve()
      t.equal(textOf(await partsOf(run)), 'one;two;')
      t.same(done, ['one', 'one', 'two'], 'the step whose record was lost is repeated, once')
      t.equal(leases, 1)
    }
  )

t.test('a start that finds an earlier run leaves no checkpoint', async (t) => {
  const { flow, join, serve } = setUp(t)
  const node = join()
  const saved: string[] = []
  const { checkpoints } = node.stores
  const engine = await serve({
    ...node,
    stores: {
      ...node.stores,
      checkpoints: {
        ...checkpoints,
        save(runId, epoch, state) {
          saved.push(runId)
          return checkpoints.save(runId, epoch, state)
        }
      }
    }
  })
  const startKey = { key: 'k', hash: 'h' }
  await (await engine.start(flow, 'x', { startKey })).result()
  t.equal((await engine.start(flow, 'x', { startKey })).replayed, true)
  await turn()
  for (const runId of saved) t.equal(await checkpoints.size(runId), undefined)
})

t.test('a node that may have lost a run does not say that its place in the log is gone', async (t) => {
  const { flow, join, serve } = setUp(t)
  const node = join()
  const engine = await serve(node)
  const run = await engine.start(flow, 'x')
  const last = (await partsOf(run)).length
  const codeAt = (seq: number) => codeOf((async () => isEnd(node.stores, run.runId, seq))())
  t.equal(await codeAt(last + 1), 'RUN_ERR_LOG_GONE')
  node.loseContact()
  t.equal(await codeAt(last + 1), 'RUN_ERR_NO_LEASE', 'another node may have written it')
  t.equal(await isEnd(node.stores, run.runId, last), true)
  await node.regainContact()
  t.equal(await codeAt(last + 1), 'RUN_ERR_LOG_GONE')
})

t.test('a part that its own node does not know to be committed is no place that is gone', async (t) => {
  const { flow, join, serve } = setUp(t)
  const node = join()
  const engine = await serve(node)
  const run = await engine.start(flow, 'x')
  const last = (await partsOf(run)).length
  const { log } = node.stores
  const unknowing = {
    ...node.stores,
    log: {
      ...log,
      read: () => [],
      readCommitted: (...asked: Parameters<typeof log.read>) => log.read(...asked)
    }
  }
  t.equal(await isEnd(unknowing, run.runId, last - 1), false)
  t.equal(await isEnd(unknowing, run.runId, last), true)
  const codeAt = (seq: number) => codeOf((async () => isEnd(unknowing, run.runId, seq))())
  t.equal(await codeAt(last + 1), 'RUN_ERR_LOG_GONE')
  node.loseContact()
  t.equal(await isEnd(unknowing, run.runId, last), true, 'what the store has needs no lease')
  t.equal(await codeAt(last + 1), 'RUN_ERR_NO_LEASE')
})
