import { createRunEngine, defineRunnable } from '@svc/registry'
import { createTestCluster } from '@svc/testing'
import t from 'tap'

for (const [where, stores] of [
  ['in memory', () => undefined],
  ['in stores of several nodes', () => createTestCluster().join().stores]
] as const)
  t.test(`a busy session ${where}`, async (t) => {
    const own = stores()
    const engine = createRunEngine(own === undefined ? {} : { stores: own })
    t.teardown(() => engine.close())
    const gate = Promise.withResolvers<void>()
    const order: unknown[] = []
    const agent = defineRunnable({
      kind: 'agent',
      name: 'talker',
      takesTurns: true,
      async run(input) {
        order.push(input)
        if (input === 'first') await gate.promise
        return String(input)
      }
    })
    const start = (input: string, whenBusy?: 'queue' | 'reject') =>
      engine.start(agent, input, { sessionId: 's', whenBusy })
    const first = await start('first', 'reject')
    await t.rejects(start('refused', 'reject'), { code: 'RUN_ERR_SESSION_BUSY', runId: first.runId })
    const canceled = await start('canceled')
    const last = await start('last')
    t.equal((await engine.find(last.runId))?.status, 'submitted')
    const { runs } = await engine.list({ limit: 10 })
    t.same(
      Object.fromEntries(runs.map(({ runId, queuePosition }) => [runId, queuePosition])),
      { [first.runId]: null, [canceled.runId]: 1, [last.runId]: 2 },
      'a list has the places of those that wait'
    )
    const places: unknown[] = []
    t.teardown(engine.followTransients(last.runId, ({ part }) => places.push(part.value)))
    t.ok(await canceled.cancel(), 'a queued run can be canceled')
    gate.resolve()
    t.equal((await last.result()).text, 'last')
    t.same(order, ['first', 'last'])
    t.same(places, [{ position: 2 }, { position: 1 }])
    const next = await start('next', 'reject')
    t.equal((await next.result()).text, 'next', 'the session is free again')
    await t.rejects(start('x', 'sometimes' as never), { code: 'RUN_ERR_WHEN_BUSY' })
  })
