import { getEventListeners } from 'node:events'
import { createInProcessStores, type Stores } from '@svc/registry'
import { codeOf, scriptedRunnable, type ScriptedAct } from '@svc/testing'
import * as fc from 'fast-check'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const texts = (...all: string[]): ScriptedAct[] => all.map((text) => ({ type: 'text', text }))

/** Stores in memory that count the followers of a log. */
function countingStores(): { stores: Stores; following: () => number } {
  const stores = createInProcessStores()
  let following = 0
  const follow: typeof stores.log.follow = (runId, wake) => {
    const unfollow = stores.log.follow(runId, wake)
    following++
    return () => {
      following--
      unfollow()
    }
  }
  return { stores: { ...stores, log: { ...stores.log, follow } }, following: () => following }
}

t.test('a reader at or past the end of an ended run reads nothing and ends', async (t) => {
  const engine = buildEngine(t)
  const run = await engine.start(scriptedRunnable(texts('a')), 'x')
  await run.result()
  const parts = await partsOf(run)
  t.same(await partsOf(run, parts.length), [])
  t.same(await partsOf(run, 1_000), [])
  t.same(await Array.fromAsync(engine.parts('nobody')), [])
})

t.test('a reader ahead of a run in progress waits for it', async (t) => {
  const engine = buildEngine(t)
  const go = Promise.withResolvers<void>()
  const run = await engine.start(scriptedRunnable([() => go.promise, ...texts('a', 'b', 'c')]), 'x')
  const ahead = partsOf(run, 3)
  const beyond = partsOf(run, 99)
  await new Promise((resolve) => setImmediate(resolve))
  go.resolve()
  t.match(await ahead, [
    { seq: 4, text: 'c' },
    { seq: 5, type: 'finish' }
  ])
  t.same(await beyond, [])
})

t.test('refuses a position that is not a part number', async (t) => {
  const engine = buildEngine(t)
  const run = await engine.start(scriptedRunnable([]), 'x')
  await run.result()
  for (const after of [-1, 0.5, NaN, Infinity, '1' as never])
    t.equal(await codeOf(() => partsOf(run, after)), 'REG_ERR_BAD_OPTION', String(after))
})

t.test('a reader that never reads does not follow the log', async (t) => {
  const { stores, following } = countingStores()
  const engine = buildEngine(t, { stores })
  const run = await engine.start(scriptedRunnable([60_000]), 'x')
  run.parts()
  const left = run.parts()[Symbol.asyncIterator]()
  await left.return?.()
  t.equal(following(), 0)
})

t.test('a reader that stops halfway no longer follows the log', async (t) => {
  const { stores, following } = countingStores()
  const engine = buildEngine(t, { stores })
  const run = await engine.start(scriptedRunnable([...texts('a', 'b'), 60_000]), 'x')
  for await (const part of run.parts()) {
    t.equal(following(), 1)
    if (part.type === 'text') break
  }
  t.equal(following(), 0)
})

t.test('no part arrives after the abort, not even one being read', async (t) => {
  const { log, ...stores } = createInProcessStores()
  const asked = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const read: typeof log.read = async (...args) => {
    asked.resolve()
    await go.promise
    return log.read(...args)
  }
  const engine = buildEngine(t, { stores: { ...stores, log: { ...log, read } } })
  const run = await engine.start(scriptedRunnable(texts('a')), 'x')
  const controller = new AbortController()
  const seen = Array.fromAsync(run.parts(0, controller.signal))
  await asked.promise
  controller.abort()
  go.resolve()
  t.same(await seen, [])
  t.equal(getEventListeners(controller.signal, 'abort').length, 0)
})

t.test('a reader of a run that is not retained ends', async (t) => {
  const engine = buildEngine(t, { retention: { maxRuns: 0 } })
  const run = await engine.start(scriptedRunnable([0, ...texts('a')]), 'x')
  const reading = partsOf(run)
  await run.result()
  t.match(await reading, [{ type: 'start' }])
  const hanging = await engine.start(scriptedRunnable([60_000]), 'x')
  t.equal(await codeOf(() => engine.cancel(hanging.runId)), 'RUN_ERR_NOT_FOUND')
  t.match(await hanging.result(), { finishReason: 'canceled' })
})

t.test('a run reads the same in pieces from any position', async (t) => {
  const engine = buildEngine(t)
  const script = fc.array(
    fc.oneof(
      fc.string().map((text) => texts(text)[0]!),
      fc.constant(0)
    ),
    {
      maxLength: 10
    }
  )
  await fc.assert(
    fc.asyncProperty(script, fc.array(fc.nat({ max: 4 }), { maxLength: 6 }), async (acts, cuts) => {
      const run = await engine.start(scriptedRunnable(acts), 'x')
      const pieces: unknown[] = []
      let after = 0
      for (const amount of cuts) {
        let left = amount
        if (left === 0) continue
        for await (const part of run.parts(after)) {
          pieces.push(part)
          after = part.seq
          if (--left === 0) break
        }
      }
      pieces.push(...(await partsOf(run, after)))
      t.strictSame(pieces, await partsOf(run))
    }),
    { numRuns: 100 }
  )
})
