import { setImmediate as turn } from 'node:timers/promises'
import { defineRunnable } from '@svc/registry'
import { createTestCluster, scriptedRunnable, steppedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../../helpers/collect.ts'
import {
  cluster,
  codeOf,
  createHeldFlow,
  requireWhole,
  textOf,
  type Member,
  stayAlive
} from '../../helpers/engine-cluster.ts'

stayAlive(t)

t.test('another node resumes the runs of a dead one; its steps are not repeated', async (t) => {
  const done: string[] = []
  const hold = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const flow = steppedRunnable(['one', 'two', 'three'], async (name) => {
    done.push(name)
    if (name === 'two' && done.length === 2) {
      held.resolve()
      await hold.promise
    }
    return name
  })
  const [first, second] = (await cluster(t, [flow])) as [Member, Member]
  const run = await first.engine.start(flow, 'x')
  const elsewhere = partsOf({ parts: (after) => second.engine.parts(run.runId, after) })
  const here = partsOf(run)
  await held.promise
  first.node.declareDead()
  for (const parts of [await elsewhere, await here]) {
    requireWhole(t, parts)
    t.equal(textOf(parts), 'one;two;three;')
  }
  t.same(done, ['one', 'two', 'two', 'three'], 'only the step in progress is repeated')
  t.match(await second.engine.get(run.runId), { status: 'completed', epoch: 2 })

  hold.resolve()
  await turn()
  await turn()
  t.same(done, ['one', 'two', 'two', 'three'], 'the dead process begins no further step')
  t.match(await run.result(), { text: 'one;two;three;' }, 'its caller gets the result of the other node')
  t.equal(await second.node.stores.checkpoints.load(run.runId), undefined)
})

t.test('a run that cannot be resumed ends as interrupted, once', async (t) => {
  const gate = Promise.withResolvers<void>()
  t.teardown(gate.resolve)
  const agent = scriptedRunnable([() => gate.promise])
  const [first, second, third] = (await cluster(t, [agent], 3)) as [Member, Member, Member]
  const run = await first.engine.start(agent, 'x')
  const result = codeOf(run.result())
  first.node.declareDead()
  const parts = await partsOf({ parts: (after) => third.engine.parts(run.runId, after) })
  requireWhole(t, parts)
  t.match(parts.at(-1), { type: 'error', error: { code: 'RUN_ERR_INTERRUPTED' } })
  t.match(await second.engine.get(run.runId), { status: 'failed', epoch: 2 })
  await first.node.regainContact()
  t.equal(await result, 'RUN_ERR_INTERRUPTED', 'its caller gets the error of the log')
})

t.test('a node that was taken for dead leaves its runs, and starts new ones when it is back', async (t) => {
  const hold = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  let attempts = 0
  const flow = steppedRunnable(['one'], async () => {
    if (++attempts > 1) return 'again'
    held.resolve()
    await hold.promise
    return 'late'
  })
  const [first, second] = (await cluster(t, [flow])) as [Member, Member]
  const run = await first.engine.start(flow, 'x')
  await held.promise
  first.node.loseContact()
  first.node.declareDead()
  await t.rejects(first.engine.start(flow, 'x'), { code: 'RUN_ERR_NO_LEASE' })
  t.match(await partsOf({ parts: (after) => second.engine.parts(run.runId, after) }), [
    { type: 'start' },
    { type: 'text', text: 'again;' },
    { type: 'finish' }
  ])
  await first.node.regainContact()
  t.equal(first.engine.active, 0)
  hold.resolve()
  t.match(await run.result(), { text: 'again;' })
  const next = await first.engine.start(flow, 'x')
  t.match(await next.result(), { text: 'again;' })
  t.match(await second.engine.get(run.runId), { status: 'completed', epoch: 2 })
})

t.test('without contact no step begins; it begins once contact is back', async (t) => {
  const { flow, done, release } = createHeldFlow()
  const [first] = (await cluster(t, [flow])) as [Member, Member]
  const run = await first.engine.start(flow, 'x')
  await turn()
  first.node.loseContact()
  release()
  for (let count = 0; count < 20; count++) await turn()
  t.same(done, ['one'])
  t.match(await first.engine.get(run.runId), { status: 'working' })
  await first.node.regainContact()
  t.match(await run.result(), { text: 'one;two;' })
  t.match(await first.engine.get(run.runId), { epoch: 1 }, 'nobody took it')
})

t.test('what a node writes after another has leased its run is refused', async (t) => {
  const late = Promise.withResolvers<void>()
  const refused = Promise.withResolvers<void>()
  const codes: unknown[] = []
  let isFirst = true
  const flow = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    async *stream(_input, context) {
      if (isFirst) {
        isFirst = false
        yield { type: 'text', text: 'a' }
        await late.promise
        const { registry, sessionId } = context
        const key = { registry, kind: 'workflow', name: 'flow', owner: 'anonymous', sessionId } as const
        const { sessions, memory, files, remoteSessions } = context.stores
        const item = { id: 'late', owner: 'anonymous', namespace: 'flow', text: 'x', createdAt: 1 }
        const writes = [
          () => sessions.append(key, 'late', [{ role: 'user', content: 'x' }]),
          () => memory.put(item),
          () => files!.put(context.runId, { mimeType: 'text/plain', content: new Uint8Array(1) }),
          () => remoteSessions!.save(key, 'other', { contextId: 'x' }),
          () => context.step('late', () => 1)
        ]
        for (const write of writes) codes.push(await codeOf((async () => write())()))
        refused.resolve()
        yield { type: 'text', text: 'zombie' }
      }
      yield { type: 'text', text: 'b' }
    }
  })
  const [first, second] = (await cluster(t, [flow])) as [Member, Member]
  const run = await first.engine.start(flow, 'x')
  first.node.declareDead()
  const parts = await partsOf({ parts: (after) => second.engine.parts(run.runId, after) })
  t.equal(textOf(parts), 'ab')
  late.resolve()
  t.match(await run.result(), { text: 'ab' })
  await refused.promise
  t.same(
    codes,
    Array.from({ length: 5 }, () => 'RUN_ERR_FENCED')
  )
  t.equal(textOf(await partsOf(run)), 'ab')
})

t.test('only nodes that have its runnable take a run, as far as their limits admit', async (t) => {
  const hold = Promise.withResolvers<void>()
  const flow = steppedRunnable(['one'], () => hold.promise)
  const shared = createTestCluster()
  const [dying, other, small] = [shared.join(), shared.join(), shared.join()] as const
  const first = buildEngine(t, { stores: dying.stores })
  const second = buildEngine(t, { stores: other.stores })
  const third = buildEngine(t, { stores: small.stores, limits: { maxRuns: 2 } })
  await third.resume(flow)
  for (const engine of [first, second, third]) await engine.recover()
  const runs = await Promise.all([1, 2, 3, 4].map(() => first.start(flow, 'x')))
  dying.loseContact()
  dying.declareDead()
  while (third.active < 2) await turn()
  for (let count = 0; count < 50; count++) await turn()
  t.equal(third.active, 2)
  t.equal(second.active, 0)
  const epochs = await Promise.all(runs.map(async ({ runId }) => (await third.get(runId))!.epoch))
  t.equal(epochs.filter((epoch) => epoch === 2).length, 2, 'those beyond the limit are not leased')
  hold.resolve()
  for (const { runId } of runs)
    t.match((await partsOf({ parts: (after) => second.parts(runId, after) })).at(-1), { type: 'finish' })
})

t.test('a run with a key of its caller is not taken over', async (t) => {
  const flow = steppedRunnable(['one'], () => new Promise(() => {}))
  const [first, second] = (await cluster(t, [flow])) as [Member, Member]
  const keyed = { apiKey: () => 'sk-secret', redact: <T>(value: T) => value }
  const run = await first.engine.start(flow, 'x', keyed)
  first.node.loseContact()
  first.node.declareDead()
  const parts = await partsOf({ parts: (after) => second.engine.parts(run.runId, after) })
  t.match(parts.at(-1), { type: 'error', error: { code: 'RUN_ERR_KEY_GONE', retryable: true } })
})

t.test('a run that kills its node 5 times without progress is not taken again', async (t) => {
  for (const makesProgress of [false, true]) {
    const names = makesProgress ? ['0', '1', '2', '3', '4', '5', '6', '7'] : ['0']
    let reached = Promise.withResolvers<void>()
    let isFirst = true
    const flow = steppedRunnable(names, async (name) => {
      if (makesProgress && (isFirst = !isFirst)) return name
      reached.resolve()
      return new Promise<string>(() => {})
    })
    const members = await cluster(t, [flow], 8)
    const { runId } = await members[0]!.engine.start(flow, 'x')
    const deaths = makesProgress ? 6 : 5
    for (let count = 0; count < deaths; count++) {
      await reached.promise
      reached = Promise.withResolvers()
      const owner = members.find(({ engine, node }) => node.stores.lease.held && engine.active === 1)!
      owner.node.loseContact()
      owner.node.declareDead()
    }
    const last = members.at(-1)!.engine
    if (makesProgress) await reached.promise
    else await partsOf({ parts: (after) => last.parts(runId, after) })
    t.match(
      await last.get(runId),
      makesProgress ? { status: 'working' } : { status: 'failed', error: { code: 'RUN_ERR_POISONED' } }
    )
  }
})
