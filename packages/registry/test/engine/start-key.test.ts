import { errors, createRunEngine, defineRunnable, type RunnableDefinition } from '@svc/registry'
import { t } from 'tap'

function counting(): { times: () => number; go: () => void; definition: RunnableDefinition } {
  let times = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  return {
    times: () => times,
    go: resolve,
    definition: {
      kind: 'agent',
      name: 'counter',
      async *stream(input) {
        times++
        await promise
        if (input === 'fail') throw new errors.RUN_ERR_FAILED()
        yield { type: 'text', text: String(input) }
      }
    }
  }
}

const startKey = { key: 'k', hash: 'h' }

t.test('a second start with the same key returns the same run', async (t) => {
  const { times, go, definition } = counting()
  const runnable = defineRunnable(definition)
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const [first, second] = await Promise.all([
    engine.start(runnable, 'hello', { startKey }),
    engine.start(runnable, 'hello', { startKey })
  ])
  t.equal(second.runId, first.runId)
  t.equal(second.sessionId, first.sessionId)
  t.same([first.replayed, second.replayed], [false, true])
  t.equal(engine.active, 1)
  const results = Promise.all([first.result(), second.result()])
  go()
  const [one, two] = await results
  t.same(two, one)
  t.equal(times(), 1)
  const third = await engine.start(runnable, 'hello', { startKey })
  t.same(await third.result(), one, 'also after its end')
  t.equal(await third.cancel(), false)
  const types: string[] = []
  for await (const part of third.parts()) types.push(part.type)
  t.same(types, ['start', 'text', 'finish'])
  t.equal(times(), 1)
})

t.test('another request with the key is refused, another owner gets another run', async (t) => {
  const { times, go, definition } = counting()
  go()
  const runnable = defineRunnable(definition)
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  await engine.start(runnable, 'hello', { startKey })
  await t.rejects(engine.start(runnable, 'bye', { startKey: { key: 'k', hash: 'other' } }), {
    code: 'RUN_ERR_KEY_REUSED',
    statusCode: 422
  })
  const grace = { principal: { sub: 'grace', scopes: [] } }
  const other = await engine.start(runnable, 'hello', { startKey, ...grace })
  t.equal(other.replayed, false)
  await other.result()
  t.equal(times(), 2)
  t.equal(engine.active, 0)
})

t.test('a failed run is not started again', async (t) => {
  const { times, go, definition } = counting()
  go()
  const runnable = defineRunnable(definition)
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const first = await engine.start(runnable, 'fail', { startKey })
  await t.rejects(first.result(), { code: 'RUN_ERR_FAILED' })
  const again = await engine.start(runnable, 'fail', { startKey })
  await t.rejects(again.result(), { code: 'RUN_ERR_FAILED', statusCode: 500 })
  t.equal(times(), 1)
})

t.test('a replayed run can be canceled', async (t) => {
  const { definition } = counting()
  const runnable = defineRunnable(definition)
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const first = await engine.start(runnable, 'hello', { startKey })
  const again = await engine.start(runnable, 'hello', { startKey })
  t.equal(await again.cancel(), true)
  t.equal((await first.result()).finishReason, 'canceled')
  t.equal((await again.result()).finishReason, 'canceled')
})
