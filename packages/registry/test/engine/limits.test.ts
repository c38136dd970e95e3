import { createInProcessStores, createRunEngine } from '@svc/registry'
import { codeOf, scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const ada = { sub: 'ada', scopes: [] }
const bob = { sub: 'bob', scopes: [] }
const hanging = scriptedRunnable([60_000])

t.test('limits concurrent runs, in total and per owner', async (t) => {
  const engine = buildEngine(t, { limits: { maxRuns: 4, maxRunsPerOwner: 2 } })
  const first = await engine.start(hanging, 'x', { principal: ada })
  await engine.start(hanging, 'x', { principal: ada })
  t.equal(await codeOf(() => engine.start(hanging, 'x', { principal: ada })), 'RUN_ERR_TOO_MANY_RUNS')
  await engine.start(hanging, 'x', { principal: bob })
  await engine.start(hanging, 'x')
  t.equal(await codeOf(() => engine.start(hanging, 'x', { principal: bob })), 'RUN_ERR_OVERLOADED')
  await first.cancel()
  await engine.start(hanging, 'x', { principal: ada })
  t.equal(engine.active, 4)
})

t.test('no owner limit without credentials', async (t) => {
  const engine = buildEngine(t, { limits: { maxRunsPerOwner: 1 } })
  await engine.start(hanging, 'x')
  await engine.start(hanging, 'x')
  t.equal(engine.active, 2)
})

t.test('a closing engine accepts no runs', async (t) => {
  const engine = createRunEngine({ drainTimeout: 60_000 })
  const run = await engine.start(scriptedRunnable([20, { type: 'text', text: 'a' }]), 'x')
  const closing = engine.close()
  t.equal(engine.draining, true)
  t.equal(await codeOf(() => engine.start(hanging, 'x')), 'RUN_ERR_DRAINING')
  await closing
  await engine.close()
  t.match(await run.result(), { finishReason: 'stop' })
})

t.test('refuses invalid options', async (t) => {
  for (const options of [
    { x: 1 },
    { drainTimeout: 'long' },
    { drainTimeout: 2 ** 31 },
    { stores: {} },
    { stores: { ...createInProcessStores(), log: undefined } },
    { events: 'x' },
    { limits: null },
    { limits: { maxLogBytes: 1_023 } },
    { limits: { maxRuns: 1.5 } },
    { retention: { maxAge: -1 } }
  ])
    t.throws(() => createRunEngine(options as never), { code: 'REG_ERR_BAD_OPTION' })
})

t.test('finished runs are kept up to a count, an age and a size', async (t) => {
  const quick = (text: string) => scriptedRunnable([{ type: 'text', text }])
  const counted = buildEngine(t, { retention: { maxRuns: 3 } })
  const ids: string[] = []
  for (let index = 0; index < 5; index++) {
    const run = await counted.start(quick('x'), 'x')
    await run.result()
    ids.push(run.runId)
  }
  t.equal(await counted.get(ids[1] ?? ''), undefined)
  t.ok(await counted.get(ids[2] ?? ''))
  t.equal((await counted.list({ limit: 9 })).runs.length, 3)

  const aged = buildEngine(t, { retention: { maxAge: 1_000 } })
  await (await aged.start(quick('x'), 'x')).result()
  const open = await aged.start(hanging, 'x')
  t.equal(await aged.stores.runs.sweep(Date.now()), 0)
  t.equal(await aged.stores.runs.sweep(Date.now() + 1_001), 1)
  t.ok(await aged.get(open.runId), 'what is under way is kept')

  const sized = buildEngine(t, { retention: { maxBytes: 300_000 } })
  for (let index = 0; index < 5; index++) await (await sized.start(quick('x'.repeat(100_000)), 'x')).result()
  t.equal((await sized.list({ limit: 9 })).runs.length, 1)
})

t.test('a reader of a dropped run ends', async (t) => {
  const engine = buildEngine(t, { retention: { maxRuns: 1 } })
  const run = await engine.start(scriptedRunnable([{ type: 'text', text: 'a' }]), 'x')
  await run.result()
  const reader = run.parts()[Symbol.asyncIterator]()
  await reader.next()
  await engine.stores.runs.remove(run.runId)
  while (!(await reader.next()).done);
  t.same(await partsOf(run), [])
})

t.test('thousands of runs leave none active', async (t) => {
  const stores = createInProcessStores({ maxRuns: 10 })
  const engine = buildEngine(t, { stores })
  const quick = scriptedRunnable([{ type: 'text', text: 'a' }])
  for (let index = 0; index < 1_000; index++) {
    const [done, hung] = await Promise.all([engine.start(quick, 'x'), engine.start(hanging, 'x')])
    await Promise.all([done.result(), hung.cancel()])
  }
  t.equal(engine.active, 0)
  t.same((await stores.runs.listLeft({ limit: 10 })).runs, [])
  t.equal((await stores.runs.list({ limit: 1_000 })).runs.length, 10)
})
