import {
  createRunEngine,
  defineRunnable,
  type NumberedPart,
  type RunEngine,
  type Stores
} from '@svc/registry'
import t, { type Test } from 'tap'
import { eachDatabase, onPostgres } from './helpers/each-store.ts'
import { createNodes } from './helpers/nodes.ts'

const never = new AbortController().signal
const textsOf = (parts: readonly NumberedPart[]) =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))

/** A runnable that says two texts before its gate opens, and two after. */
function createTalker() {
  const said = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const talker = defineRunnable({
    kind: 'agent',
    name: 'talker',
    async *stream() {
      yield { type: 'text', text: 'a' }
      yield { type: 'text', text: 'b' }
      said.resolve()
      await gate.promise
      yield { type: 'text', text: 'c' }
      yield { type: 'text', text: 'd' }
    }
  })
  return { talker, said: said.promise, open: gate.resolve }
}

function openEngine(t: Test, stores: Stores): RunEngine {
  const engine = createRunEngine({ stores, drainTimeout: 0 })
  t.teardown(() => engine.close())
  return engine
}

/** Reads a run; `first` resolves with its first text. */
function follow(engine: RunEngine, runId: string) {
  const first = Promise.withResolvers<void>()
  const whole = (async () => {
    const parts: NumberedPart[] = []
    for await (const part of engine.parts(runId)) {
      parts.push(part)
      if (part.type === 'text') first.resolve()
    }
    return textsOf(parts)
  })()
  return { first: first.promise, whole }
}

/** Resolves once a node has received what another one has sent so far. */
async function informed(from: RunEngine, to: RunEngine, runId: string): Promise<void> {
  const received = Promise.withResolvers<void>()
  const unsubscribe = to.stores.control.subscribe(() => received.resolve())
  await from.stores.control.publish({ type: 'watch', runId, watcher: 'test' })
  await received.promise
  unsubscribe()
}

t.test('one process', (t) =>
  eachDatabase(t, async (t, make) => {
    await t.test('a text without a reader is one row', async (t) => {
      const stores = await make(t).open()
      t.teardown(() => stores.close())
      await stores.lease?.whenHeld(never)
      const engine = openEngine(t, stores)
      const { talker, open } = createTalker()
      open()
      const run = await engine.start(talker, 'Hi')
      t.match(await run.result(), { text: 'abcd' })
      t.same(await follow(engine, run.runId).whole, ['abcd'])
    })

    await t.test('a reader gets each part', async (t) => {
      const stores = await make(t).open()
      t.teardown(() => stores.close())
      await stores.lease?.whenHeld(never)
      const engine = openEngine(t, stores)
      const { talker, said, open } = createTalker()
      const run = await engine.start(talker, 'Hi')
      await said
      const { first, whole } = follow(engine, run.runId)
      await first
      open()
      t.same(await whole, ['ab', 'c', 'd'])
    })
  })
)

t.test('two nodes', (t) =>
  onPostgres(t, async (t, _open, url) => {
    await t.test('a reader on another node gets each part', async (t) => {
      const { open: openStore } = await createNodes(t, url)
      const nodes: RunEngine[] = []
      for (let count = 0; count < 2; count++) {
        const stores = await openStore()
        await stores.lease!.whenHeld(never)
        nodes.push(openEngine(t, stores))
      }
      const [own, other] = nodes as [RunEngine, RunEngine]
      const { talker, said, open } = createTalker()
      const run = await own.start(talker, 'Hi')
      await said
      const { first, whole } = follow(other, run.runId)
      await first
      await informed(other, own, run.runId)
      open()
      t.same(await whole, ['ab', 'c', 'd'])
    })
  })
)
