import { setImmediate as turn } from 'node:timers/promises'
import type { RunStore } from '@svc/registry'
import { createTestCluster, steppedRunnable, type TestNode } from '@svc/testing'
import t, { type Test } from 'tap'
import { buildEngine, partsOf } from '../../helpers/collect.ts'
import { requireWhole, textOf, stayAlive } from '../../helpers/engine-cluster.ts'

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
  while ((await first.stores.runs.readStep(run.runId, '["one"]')) === undefined) await turn()
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
