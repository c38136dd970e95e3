import { getEventListeners } from 'node:events'
import { defineRunnable } from '@svc/registry'
import { codeOf, pause, scriptedRunnable } from '@svc/testing'
import * as fc from 'fast-check'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

t.test('canceling aborts, emits one finish, and is final', async (t) => {
  const engine = buildEngine(t)
  const aborted = Promise.withResolvers<unknown>()
  const run = await engine.start(
    scriptedRunnable([
      { type: 'text', text: 'a' },
      (context) => context.signal.addEventListener('abort', () => aborted.resolve(context.signal.reason)),
      60_000
    ]),
    'x'
  )
  const result = run.result()
  await new Promise((resolve) => setImmediate(resolve))
  t.match(await engine.cancel(run.runId), { status: 'canceled' })
  t.match(await aborted.promise, { code: 'RUN_ERR_CANCELED' })
  t.match(await result, { finishReason: 'canceled', text: 'a' })
  t.same(
    (await partsOf(run)).map(({ type }) => type),
    ['start', 'text', 'finish']
  )
  t.equal(await run.cancel(), false)
  t.equal(await codeOf(() => engine.cancel(run.runId)), 'RUN_ERR_TERMINAL')
  t.equal(await codeOf(() => engine.cancel('nobody')), 'RUN_ERR_NOT_FOUND')
})

t.test('canceling does not wait for a runnable that ignores its signal', async (t) => {
  const engine = buildEngine(t)
  const deaf = defineRunnable({ kind: 'agent', name: 'deaf', run: () => new Promise<string>(() => {}) })
  const run = await engine.start(deaf, 'x')
  t.equal(await run.cancel(), true)
  t.match(await run.result(), { finishReason: 'canceled' })
  t.equal(engine.active, 0)
})

t.test('a signal requested after the end is aborted', async (t) => {
  const engine = buildEngine(t)
  const late = Promise.withResolvers<AbortSignal>()
  const go = Promise.withResolvers<void>()
  const runnable = defineRunnable({
    kind: 'agent',
    name: 'late',
    async run(_input, context) {
      await go.promise
      late.resolve(context.signal)
      return ''
    }
  })
  const run = await engine.start(runnable, 'x')
  await run.cancel()
  go.resolve()
  t.equal((await late.promise).aborted, true)
})

t.test('only the first end of a run counts', async (t) => {
  const engine = buildEngine(t)
  const turns = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(turns, turns, fc.boolean(), async (before, until, fails) => {
      const spin = async (counts: number[]) => {
        for (const count of counts) for (let i = 0; i < count; i++) await Promise.resolve()
      }
      const runnable = scriptedRunnable([
        { type: 'text', text: 'a' },
        () => spin(before),
        { type: 'text', text: 'b' },
        () => {
          if (fails) throw new Error('fails')
        }
      ])
      const run = await engine.start(runnable, 'x')
      await spin(until)
      const [canceled] = await Promise.all([run.cancel(), run.result().catch(() => {})])
      const parts = await partsOf(run)
      const last = parts.at(-1)!
      const ends = parts.filter(({ type }) => type === 'finish' || type === 'error')
      const { status } = (await engine.get(run.runId))!
      const wanted = canceled ? 'canceled' : fails ? 'failed' : 'completed'
      return ends.length === 1 && ends[0] === last && status === wanted && engine.active === 0
    }),
    { numRuns: 200 }
  )
})

t.test('a reader that stops leaves nothing behind', async (t) => {
  const engine = buildEngine(t)
  const run = await engine.start(scriptedRunnable([{ type: 'text', text: 'a' }, 60_000]), 'x')
  const controller = new AbortController()
  const seen: string[] = []
  for await (const part of run.parts(0, controller.signal)) {
    seen.push(part.type)
    if (part.type === 'text') setImmediate(() => controller.abort())
  }
  t.same(seen, ['start', 'text'])
  t.equal(getEventListeners(controller.signal, 'abort').length, 0)
  t.same(
    await Array.fromAsync(run.parts(0, controller.signal)),
    [],
    'a signal that is aborted already reads nothing'
  )
  t.equal((await engine.get(run.runId))?.status, 'working')
})

t.test('readers read at their own pace', async (t) => {
  const engine = buildEngine(t)
  const run = await engine.start(
    scriptedRunnable(
      Array.from({ length: 50 }, (_, index) => [
        index % 7 ? 0 : 1,
        { type: 'text' as const, text: `${index}` }
      ]).flat()
    ),
    'x'
  )
  const slow = (async () => {
    const parts = []
    for await (const part of run.parts()) {
      await pause(1, new AbortController().signal)
      parts.push(part)
    }
    return parts
  })()
  const [first, second, third] = await Promise.all([partsOf(run), slow, partsOf(run, 30)])
  t.equal(first.length, 52)
  t.same(first, second)
  t.same(third, first.slice(30))
})
