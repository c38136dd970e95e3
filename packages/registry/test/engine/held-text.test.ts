import t from 'tap'
import {
  createInProcessStores,
  defineRunnable,
  type NumberedPart,
  type Runnable,
  type Stores,
  type YieldedPart
} from '@svc/registry'
import { codeOf } from '@svc/testing'
import { buildEngine, partsOf } from '../helpers/collect.ts'

/** Stores that tell who follows a log only when a test says so. */
function unfollowedStores() {
  const stores = createInProcessStores()
  const acts = new Set<() => void>()
  const held: { isFollowed: boolean; follow(): void; readonly waiting: number; stores: Stores } = {
    isFollowed: false,
    follow() {
      held.isFollowed = true
      for (const act of acts) act()
      acts.clear()
    },
    get waiting() {
      return acts.size
    },
    stores: {
      ...stores,
      log: {
        ...stores.log,
        onFollowed(_runId, act) {
          if (held.isFollowed) return undefined
          acts.add(act)
          return () => acts.delete(act)
        }
      }
    }
  }
  return held
}

const runnable = (stream: Runnable['stream'] & {}, options: Partial<Runnable> = {}) =>
  defineRunnable({ kind: 'agent', name: 'talker', stream, ...options })

const shown = (parts: readonly NumberedPart[]) =>
  parts.map((part) => ('text' in part ? `${part.type} ${part.text}` : part.type))

const text = (value: string, source?: string[]): YieldedPart => ({
  type: 'text',
  text: value,
  ...(source && { source })
})

t.test('increments of a text that has no reader are one part', async (t) => {
  const { stores } = unfollowedStores()
  const engine = buildEngine(t, { stores })
  const talker = runnable(async function* () {
    yield text('a')
    yield text('b')
    yield { type: 'reasoning', text: 'c' }
    yield { type: 'reasoning', text: 'd' }
    yield text('e', ['one'])
    yield text('f', ['one'])
    yield text('g', ['two'])
    yield { type: 'data', name: 'x', value: 1 }
    yield text('h')
    yield text('i')
  })
  const run = await engine.start(talker, 'Hi')
  t.match(await run.result(), { text: 'abhi' })
  const parts = await partsOf(run)
  t.same(shown(parts), ['start', 'text ab', 'reasoning cd', 'text ef', 'text g', 'data', 'text hi', 'finish'])
  t.same(
    parts.map(({ seq }) => seq),
    parts.map((_, index) => index + 1)
  )
})

t.test('a reader gets what is held, and from then on each part at once', async (t) => {
  const held = unfollowedStores()
  const engine = buildEngine(t, { stores: held.stores })
  const said = Promise.withResolvers<void>()
  const followed = Promise.withResolvers<void>()
  const talker = runnable(async function* () {
    yield text('a')
    yield text('b')
    said.resolve()
    await followed.promise
    yield text('c')
    yield text('d')
  })
  const run = await engine.start(talker, 'Hi')
  await said.promise
  t.same(shown([...(await engine.stores.log.read(run.runId, 0, LIMIT))].map(({ part }) => part)), ['start'])
  held.follow()
  const parts = partsOf(run)
  followed.resolve()
  t.same(shown(await parts), ['start', 'text ab', 'text c', 'text d', 'finish'])
})

t.test('text is written after a moment, also without a reader', async (t) => {
  const held = unfollowedStores()
  const engine = buildEngine(t, { stores: held.stores })
  const written = Promise.withResolvers<void>()
  const talker = runnable(async function* () {
    yield text('a')
    await written.promise
  })
  const run = await engine.start(talker, 'Hi')
  const reader = run.parts()[Symbol.asyncIterator]()
  t.match((await reader.next()).value, { type: 'start' })
  t.match((await reader.next()).value, { type: 'text', text: 'a' })
  t.equal(held.waiting, 0)
  written.resolve()
  await run.result()
})

t.test('text is in the log before the step that follows it', async (t) => {
  const held = unfollowedStores()
  const steps: string[] = []
  const { log, runs } = held.stores
  const note = (what: string) => steps.push(what)
  const stores = {
    ...held.stores,
    log: {
      ...log,
      append: ((runId, epoch, entries, ...rest) => {
        for (const { part } of entries) note(part.type)
        return log.append(runId, epoch, entries, ...rest)
      }) satisfies Stores['log']['append']
    },
    runs: {
      ...runs,
      recordStep: ((...args) => {
        note('recorded')
        return runs.recordStep(...args)
      }) satisfies Stores['runs']['recordStep']
    }
  }
  const engine = buildEngine(t, { stores })
  const said = Promise.withResolvers<void>()
  const talker = runnable(
    async function* (_input, context) {
      const step = context.step('one', () => said.promise)
      yield text('a')
      said.resolve()
      await step
    },
    { kind: 'workflow', resumable: true }
  )
  await (await engine.start(talker, 'Hi')).result()
  t.same(steps, ['start', 'text', 'recorded', 'finish'])
})

t.test('the limit of a log holds for held text, too', async (t) => {
  const { stores } = unfollowedStores()
  const engine = buildEngine(t, { stores, limits: { maxLogBytes: 20_000 } })
  const talker = runnable(async function* () {
    for (;;) yield text('x'.repeat(1_000))
  })
  const run = await engine.start(talker, 'Hi')
  t.equal(await codeOf(() => run.result()), 'RUN_ERR_LOG_LIMIT')
  const parts = await partsOf(run)
  t.equal(parts.at(-1)?.type, 'error')
  t.ok(JSON.stringify(parts).length < 25_000)
})

t.test('a canceled run keeps what it said, and holds nothing more', async (t) => {
  const held = unfollowedStores()
  const engine = buildEngine(t, { stores: held.stores })
  const said = Promise.withResolvers<void>()
  const talker = runnable(async function* (_input, { signal }) {
    yield text('a')
    said.resolve()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  })
  const run = await engine.start(talker, 'Hi')
  await said.promise
  t.equal(held.waiting, 1)
  await run.cancel()
  t.same(shown(await partsOf(run)), ['start', 'text a', 'finish'])
  t.equal(held.waiting, 0)
})

const LIMIT = { entries: 100, bytes: 100_000 }
