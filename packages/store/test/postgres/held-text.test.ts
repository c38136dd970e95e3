import { createRunEngine, defineRunnable, type NumberedPart, type RunEngine } from '@svc/registry'
import t, { type Test } from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const never = new AbortController().signal
const textsOf = (parts: readonly NumberedPart[]) =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))

await onPostgres(t, async (t, _open, url) => {
  /** Two engines on one schema, and a runnable that says two texts before its gate opens, and two after. */
  async function prepare(t: Test) {
    const { open } = await createNodes(t, url)
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
    const engines: RunEngine[] = []
    t.teardown(() => Promise.all(engines.map((engine) => engine.close())))
    for (let count = 0; count < 2; count++) {
      const stores = await open()
      await stores.lease!.whenHeld(never)
      engines.push(createRunEngine({ stores, drainTimeout: 0 }))
    }
    const [own, other] = engines as [RunEngine, RunEngine]
    return { own, other, talker, said: said.promise, open: gate.resolve }
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

  await t.test('a text without a reader is one row', async (t) => {
    const { own, talker, open } = await prepare(t)
    open()
    const run = await own.start(talker, 'Hi')
    t.match(await run.result(), { text: 'abcd' })
    t.same(await follow(own, run.runId).whole, ['abcd'])
  })

  for (const where of ['own', 'other'] as const)
    await t.test(`a reader on ${where === 'own' ? 'the' : 'another'} node gets each part`, async (t) => {
      const { [where]: engine, own, talker, said, open } = await prepare(t)
      const run = await own.start(talker, 'Hi')
      await said
      const { first, whole } = follow(engine, run.runId)
      await first
      await informed(engine, own, run.runId)
      open()
      t.same(await whole, ['ab', 'c', 'd'])
    })
})
