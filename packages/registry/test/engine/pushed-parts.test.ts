import { setImmediate } from 'node:timers/promises'
import { createInProcessStores, type PartSink, type Runnable, type YieldedPart } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

/** A runnable whose stream pushes its parts; `pulled` is called if it is asked for one. */
function pushing(push: (sink: PartSink) => Promise<void>, pulled = () => {}): Runnable {
  const parts = {
    pushTo: push,
    async next() {
      pulled()
      return { done: true, value: undefined } as const
    },
    [Symbol.asyncIterator]: () => parts
  }
  return { ...scriptedRunnable([]), kind: 'agent', name: 'pushing', stream: () => parts }
}

const text = (said: string): YieldedPart => ({ type: 'text', text: said })

const part = (value: string): YieldedPart => ({ type: 'data', name: 'said', value })

t.test('parts that are pushed are in the log at once, and the run ends with its stream', async (t) => {
  const engine = buildEngine(t)
  const logged: number[] = []
  const runnable = pushing(
    async (sink) => {
      await setImmediate()
      for (const said of ['a', 'b']) {
        t.equal(sink(part(said)), undefined)
        logged.push((await engine.stores.log.read(run.runId, 0, { entries: 9, bytes: 999 })).length)
      }
    },
    () => t.fail('it is not asked for parts')
  )
  const run = await engine.start(runnable, 'x')
  t.match(await run.result(), { finishReason: 'stop' })
  t.same(logged, [2, 3])
  t.same(
    (await partsOf(run)).map(({ type }) => type),
    ['start', 'data', 'data', 'finish']
  )
})

t.test('a bad part fails the run, and the sink throws the same from then on', async (t) => {
  const engine = buildEngine(t)
  const errors: unknown[] = []
  const runnable = pushing(async (sink) => {
    for (const part of [{ type: 'nonsense' } as never, text('late')]) {
      try {
        sink(part)
      } catch (err) {
        errors.push(err)
      }
    }
  })
  const run = await engine.start(runnable, 'x')
  await t.rejects(run.result(), { code: 'RUN_ERR_BAD_PART' })
  t.match(errors, [{ code: 'RUN_ERR_BAD_PART' }, { code: 'RUN_ERR_BAD_PART' }])
  t.notMatch(await partsOf(run), [{}, { type: 'text' }])
})

t.test('after a cancel the sink throws the reason', async (t) => {
  const engine = buildEngine(t)
  const canceled = Promise.withResolvers<void>()
  const error = Promise.withResolvers<unknown>()
  const runnable = pushing(async (sink) => {
    await canceled.promise
    try {
      sink(text('late'))
    } catch (err) {
      error.resolve(err)
      throw err
    }
  })
  const run = await engine.start(runnable, 'x')
  await run.cancel()
  canceled.resolve()
  t.match(await error.promise, { code: 'RUN_ERR_CANCELED' })
  t.match(await run.result(), { finishReason: 'canceled', text: '' })
})

t.test('a store that falls behind holds the next part back', async (t) => {
  const stores = createInProcessStores()
  const opened = Promise.withResolvers<void>()
  const append: typeof stores.log.append = async (...args) => {
    await opened.promise
    return stores.log.append(...args)
  }
  const engine = buildEngine(t, { stores: { ...stores, log: { ...stores.log, append } } })
  let pushed = 0
  const runnable = pushing(async (sink) => {
    while (pushed < 20) {
      const waiting = sink(text('x'.repeat(50_000)))
      pushed++
      if (waiting === undefined) continue
      opened.resolve()
      await waiting
      break
    }
  })
  const run = await engine.start(runnable, 'x')
  t.equal((await run.result()).text.length, pushed * 50_000)
  t.ok(pushed < 10, `${pushed} parts of 50,000 characters`)
})
