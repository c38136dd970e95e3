import { defineRunnable, type RunContext, type SessionKey } from '@svc/registry'
import { createTestCluster } from '@svc/testing'
import t from 'tap'
import { buildEngine } from '../../helpers/collect.ts'

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

type Engine = ReturnType<typeof buildEngine>
