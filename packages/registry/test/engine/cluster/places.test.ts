import { defineRunnable, type RunContext, type SessionKey } from '@svc/registry'
import { createTestCluster } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../../helpers/collect.ts'

const keyOf = ({ registry, sessionOwner: owner, sessionId }: RunContext): SessionKey => ({
  registry,
  owner,
  sessionId,
  kind: 'agent',
  name: 'talker'
})

/** An agent that asks for its turn only when a test lets it, and says who it is. */
function createTalker(order: string[], maySpeak: (input: unknown) => Promise<void>) {
  return defineRunnable({
    kind: 'agent',
    name: 'talker',
    takesTurns: true,
    async run(input, context) {
      await maySpeak(input)
      const end = await context.stores.sessions.lock(keyOf(context), context.signal, context.runId)
      order.push(String(input))
      end()
      return ''
    }
  })
}

t.test('runs of a session take their turns in the order of acceptance, on any node', async (t) => {
  const shared = createTestCluster()
  const [one, two] = [0, 1].map(() => buildEngine(t, { stores: shared.join().stores })) as [Engine, Engine]
  const order: string[] = []
  const gate = Promise.withResolvers<void>()
  const talker = createTalker(order, async (input) => {
    if (input === 'first') await gate.promise
  })
  const first = await one.start(talker, 'first', { sessionId: 's' })
  const second = await two.start(talker, 'second', { sessionId: 's' })
  t.ok(second.queued)
  t.equal((await two.find(second.runId))?.status, 'submitted')
  t.same(order, [], 'the first one has not asked yet')
  gate.resolve()
  await Promise.all([first.result(), second.result()])
  t.same(order, ['first', 'second'])
})

t.test('a run that ends without a turn gives its place back', async (t) => {
  const shared = createTestCluster()
  const [one, two] = [0, 1].map(() => buildEngine(t, { stores: shared.join().stores })) as [Engine, Engine]
  const order: string[] = []
  const never = new Promise<void>(() => {})
  const talker = createTalker(order, async (input) => (input === 'canceled' ? never : undefined))
  const first = await one.start(talker, 'canceled', { sessionId: 's' })
  const second = await two.start(talker, 'second', { sessionId: 's' })
  await first.cancel()
  await second.result()
  t.same(order, ['second'])
})

t.test('a run that is resumed after it saved its turn does not have it in its history', async (t) => {
  const shared = createTestCluster()
  const [one, two] = [shared.join(), shared.join()]
  const shown: unknown[][] = []
  const saved = Promise.withResolvers<void>()
  const never = new Promise<void>(() => {})
  const talker = defineRunnable({
    kind: 'agent',
    name: 'talker',
    takesTurns: true,
    resumable: true,
    async run(input, context) {
      const { sessions } = context.stores
      const key = keyOf(context)
      const end = await sessions.lock(key, context.signal, context.runId)
      const history = await sessions.load(key, 10)
      shown.push(history.map((message) => (message.role === 'user' ? message.content : message.role)))
      await sessions.append(key, context.runId, [{ role: 'user', content: String(input) }])
      if (shown.length === 2) {
        saved.resolve()
        await never
      }
      end()
      return 'done'
    }
  })
  const [first, second] = [one, two].map(({ stores }) => buildEngine(t, { stores })) as [Engine, Engine]
  const options = { sessionId: 's', onDisconnect: 'continue' } as const
  await (await first.start(talker, 'one', options)).result()
  const run = await first.start(talker, 'two', options)
  await saved.promise
  await second.resume(talker)
  await second.recover()
  one.declareDead()
  const parts = await partsOf({ parts: (after) => second.parts(run.runId, after) })
  t.equal(parts.at(-1)?.type, 'finish')
  await (await second.start(talker, 'three', options)).result()
  t.same(shown, [[], ['one'], ['one'], ['one', 'two']], 'it is the same, and the turn is saved once')
})

type Engine = ReturnType<typeof buildEngine>
