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
  const held: { isFollowed: boolean; follow(): void; stores: Stores } = {
    isFollowed: false,
    follow() {
      held.isFollowed = true
      for (const act of acts) act()
      acts.clear()
    },
    stores: {
      ...stores,
      log: {
        ...stores.log,
        onFollowed(_runId, act) {
          if (held.isFollowed) return false
          acts.add(act)
          return true
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

/** A runnable that says texts of one letter; before those of each further list it waits for its gate. */
function talkerWithGates(first: string, ...lists: string[]) {
  const said = Promise.withResolvers<void>()
  const gates = lists.map(() => Promise.withResolvers<void>())
  const talker = runnable(async function* () {
    for (const letter of first) yield text(letter)
    said.resolve()
    for (const [index, letters] of lists.entries()) {
      await gates[index]!.promise
      for (const letter of letters) yield text(letter)
    }
  })
  return { talker, said: said.promise, open: (gate: number) => gates[gate]!.resolve() }
}

t.test('increments of a text that has no reader are one part', async (t) => {
  const engine = buildEngine(t)
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
  const { talker, said, open } = talkerWithGates('ab', 'cd')
  const run = await engine.start(talker, 'Hi')
  await said
  t.same(shown([...(await engine.stores.log.read(run.runId, 0, LIMIT))].map(({ part }) => part)), ['start'])
  held.follow()
  const parts = partsOf(run)
  open(0)
  t.same(shown(await parts), ['start', 'text ab', 'text c', 'text d', 'finish'])
})

t.test('what is said in one turn of the event loop while a reader follows is one append', async (t) => {
  const stores = createInProcessStores()
  const appended: string[][] = []
  const append: Stores['log']['append'] = (runId, epoch, entries, ...more) => {
    appended.push(shown(entries.map(({ part }) => part)))
    return stores.log.append(runId, epoch, entries, ...more)
  }
  const engine = buildEngine(t, { stores: { ...stores, log: { ...stores.log, append } } })
  const followed = Promise.withResolvers<void>()
  const talker = runnable(async function* () {
    await followed.promise
    yield text('a')
    yield text('b')
    await new Promise(setImmediate)
    yield text('c')
    yield { type: 'reasoning', text: 'd' }
    yield { type: 'data', name: 'x', value: 1 }
    yield text('e')
  })
  const run = await engine.start(talker, 'Hi')
  const parts = partsOf(run)
  followed.resolve()
  const all = ['start', 'text a', 'text b', 'text c', 'reasoning d', 'data', 'text e', 'finish']
  t.same(shown(await parts), all)
  t.same(appended, [['start'], ['text a', 'text b'], ['text c', 'reasoning d', 'data'], ['text e', 'finish']])
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

t.test(
  'a reader of the stores in process memory gets what is held, and each part from then on',
  async (t) => {
    const engine = buildEngine(t)
    const { talker, said, open } = talkerWithGates('ab', 'cd', 'ef')
    const run = await engine.start(talker, 'Hi')
    await said
    const seen: NumberedPart[] = []
    for await (const part of run.parts()) {
      if (seen.push(part) === 2) open(0)
      if (seen.length === 4) break
    }
    t.same(shown(seen), ['start', 'text ab', 'text c', 'text d'])
    open(1)
    await run.result()
    t.same(shown(await partsOf(run, 4)), ['text ef', 'finish'])
  }
)

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
  await run.cancel()
  held.follow()
  t.same(shown(await partsOf(run)), ['start', 'text a', 'finish'])
})

const LIMIT = { entries: 100, bytes: 100_000 }
