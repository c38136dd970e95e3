import { setTimeout as pause } from 'node:timers/promises'
import { createRunEngine, defineRunnable, type NumberedPart, type RunEngine } from '@svc/registry'
import t from 'tap'
import { eachDatabase } from './helpers/each-store.ts'

// No timer of an engine keeps a process alive.
const alive = setInterval(() => {}, 60_000)
t.teardown(() => clearInterval(alive))

const partsOf = async (engine: RunEngine, runId: string): Promise<NumberedPart[]> => {
  const parts: NumberedPart[] = []
  for await (const part of engine.parts(runId)) parts.push(part)
  return parts
}

void t.test('waiting runs', (t) =>
  eachDatabase(t, async (t, make) => {
    await t.test('a run that waits leaves memory, and keeps the turn of its session', async (t) => {
      const stores = await make(t).open()
      const engine = createRunEngine({ stores, drainTimeout: 0, limits: { maxRuns: 1 } })
      t.teardown(async () => {
        await engine.close()
        await stores.close()
      })
      const order: string[] = []
      const agent = defineRunnable({
        kind: 'agent',
        name: 'agent',
        resumable: true,
        takesTurns: true,
        async *stream(input, context) {
          order.push(String(input))
          const { action } = await context.ask({ message: 'Go?', durable: true })
          yield { type: 'text', text: `${String(input)} ${action}` }
        }
      })
      const first = await engine.start(agent, 'first', { sessionId: 's' })
      const reading = partsOf(engine, first.runId)
      for await (const { type } of first.parts()) if (type === 'input.request') break
      const second = await engine.start(agent, 'second', { sessionId: 's' })
      t.equal(second.queued, true)
      t.match(await engine.find(second.runId), { queuePosition: 1 })
      while (engine.active > 1) await pause(20)
      t.same(order, ['first'])
      const result = first.result()
      await engine.answer(`${first.runId}.1`, { action: 'accept' })
      t.match(await result, { text: 'first accept' })
      const seqs = (await reading).map(({ seq }) => seq)
      t.same(
        seqs,
        seqs.map((_, index) => index + 1)
      )
      for await (const { type } of second.parts()) if (type === 'input.request') break
      while (engine.active > 0) await pause(20)
      await engine.answer(`${second.runId}.1`, { action: 'decline' })
      t.match(await second.result(), { text: 'second decline' })
      t.same(order, ['first', 'first', 'second', 'second'])
    })
  })
)
