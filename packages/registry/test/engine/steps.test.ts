import { createInProcessStores, type RunContext } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine } from '../helpers/collect.ts'

const ask = async (engine: ReturnType<typeof buildEngine>, act: (context: RunContext) => unknown) => {
  const run = await engine.start(scriptedRunnable([act]), 'x')
  await run.result()
  return run
}

t.test('a step requested twice at the same time runs once', async (t) => {
  let calls = 0
  const count = async () => {
    await new Promise((resolve) => setImmediate(resolve))
    return ++calls
  }
  await ask(buildEngine(t), async (context) => {
    t.same(await Promise.all([context.step('a', count), context.step('a', count)]), [1, 1])
  })
  t.equal(calls, 1)
})

t.test('a failed step can be retried', async (t) => {
  let calls = 0
  const flaky = () => {
    if (++calls === 1) throw new Error('once')
    return calls
  }
  await ask(buildEngine(t), async (context) => {
    await t.rejects(context.step('a', flaky), { message: 'once' })
    t.equal(await context.step('a', flaky), 2)
  })
})

t.test('steps of different members never collide, for any keys', async (t) => {
  await ask(buildEngine(t), async (context) => {
    const paths: [RunContext, string][] = [
      [context, 'a/b/c'],
      [context.child('a'), 'b/c'],
      [context.child('a').child('b'), 'c'],
      [context.child('a/b'), 'c'],
      [context, '["a","b","c"]']
    ]
    for (const [index, [where, key]] of paths.entries()) t.equal(await where.step(key, () => index), index)
  })
})

t.test('the JSON of the step’s return value is recorded', async (t) => {
  await ask(buildEngine(t), async (context) => {
    const given = { at: new Date(0), list: [1], gone: undefined }
    const first = await context.step<unknown>('a', () => given)
    given.list.push(2)
    t.strictSame(first, { at: '1970-01-01T00:00:00.000Z', list: [1] })
    t.strictSame(await context.step<unknown>('a', () => 'no'), first)
  })
})

t.test('an ended run starts no step', async (t) => {
  const engine = buildEngine(t)
  const go = Promise.withResolvers<void>()
  const refused = Promise.withResolvers<unknown>()
  let called = false
  const run = await engine.start(
    scriptedRunnable([
      async (context) => {
        await go.promise
        await context.step('a', () => void (called = true)).then(refused.resolve, refused.resolve)
      }
    ]),
    'x'
  )
  await run.cancel()
  go.resolve()
  t.match(await refused.promise, { code: 'RUN_ERR_CANCELED' })
  t.equal(called, false)
})

t.test('only the process that leases the run records steps', async (t) => {
  const stores = createInProcessStores()
  const engine = buildEngine(t, { stores })
  const go = Promise.withResolvers<void>()
  const run = await engine.start(
    scriptedRunnable([
      async (context) => {
        await go.promise
        await t.rejects(
          context.step('a', () => 1),
          { code: 'RUN_ERR_FENCED' }
        )
      }
    ]),
    'x'
  )
  await stores.runs.lease(run.runId)
  go.resolve()
  await t.rejects(run.result(), { code: 'RUN_ERR_STORE' })
})
