import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { createInProcessStores, createRunEngine, type RunEngine } from '@svc/registry'
import { createTestCluster } from '@svc/testing'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import t from 'tap'
import { pay } from '../helpers/make-agent.ts'

// The timers of engines do not keep a process alive.
const keepAlive = setInterval(() => {}, 1_000)
t.teardown(() => clearInterval(keepAlive))

const sessionId = 's'

/** An agent whose first message needs an approval, and the prompts of its model as JSON. */
function paying() {
  const prompts: string[] = []
  const model = scriptedModel(({ prompt }) => {
    prompts.push(JSON.stringify(prompt))
    if (prompt.at(-1)?.role === 'tool') return 'done'
    return prompts.at(-1)!.includes('Then?') ? 'then' : { toolCalls: [{ toolName: 'pay', toolCallId: 'c' }] }
  })
  return { agent: new Agent({ name: 'agent', register: false, model, tools: [pay] }), prompts }
}

async function whenAsked(engine: RunEngine, runId: string): Promise<string> {
  while ((await engine.findInput(`${runId}.1`)) === undefined) await setImmediate()
  return `${runId}.1`
}

t.test('a run that waits out of memory keeps the turn of its session', async (t) => {
  const { agent, prompts } = paying()
  const stores = createInProcessStores()
  const earlier = createRunEngine({ stores, drainTimeout: 0 })
  const run = await earlier.start(agent, 'First', { sessionId })
  run.result().catch(() => {})
  const inputId = await whenAsked(earlier, run.runId)
  await earlier.close()
  const engine = createRunEngine({ stores, drainTimeout: 0 })
  t.teardown(() => engine.close())
  await engine.resume(agent)
  await engine.recover()
  while (engine.active > 0) await sleep(5)
  const next = await engine.start(agent, 'Then?', { sessionId })
  await sleep(20)
  t.equal(prompts.length, 1, 'the first turn is not over')
  await engine.answer(inputId, { approved: true })
  t.match(await next.result(), { text: 'then' })
  t.match(prompts.at(-1), /First.*paid.*done.*Then\?/)
})

t.test('a canceled run gives up the turn that it kept', async (t) => {
  const { agent } = paying()
  const stores = createInProcessStores()
  const earlier = createRunEngine({ stores, drainTimeout: 0 })
  const run = await earlier.start(agent, 'First', { sessionId })
  run.result().catch(() => {})
  await whenAsked(earlier, run.runId)
  await earlier.close()
  const engine = createRunEngine({ stores, drainTimeout: 0 })
  t.teardown(() => engine.close())
  await engine.resume(agent)
  await engine.recover()
  const next = await engine.start(agent, 'Then?', { sessionId })
  await engine.cancel(run.runId)
  t.match(await next.result(), { text: 'then' })
})

t.test(
  'turns follow in the order in which their runs were accepted, however long their preparation takes',
  async (t) => {
    const { join } = createTestCluster()
    const engines = [join(), join()].map(({ stores }) => createRunEngine({ stores, drainTimeout: 0 }))
    const [first, second] = engines as [RunEngine, RunEngine]
    for (const engine of engines) t.teardown(() => engine.close())
    const gate = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    const prompts: string[] = []
    const model = scriptedModel(({ prompt }) => {
      prompts.push(JSON.stringify(prompt))
      return 'answer'
    })
    const agentOf = (resolve: () => Promise<void>) =>
      new Agent({ name: 'agent', register: false, model: () => resolve().then(() => model) })
    const slow = agentOf(() => {
      asked.resolve()
      return gate.promise
    })
    const one = await first.start(slow, 'First', { sessionId })
    await asked.promise
    const next = await second.start(
      agentOf(async () => {}),
      'Then?',
      { sessionId }
    )
    await sleep(20)
    gate.resolve()
    await Promise.all([one.result(), next.result()])
    t.match(prompts.at(-1), /First.*answer.*Then\?/)
  }
)

t.test('a run that is handed over keeps the turn of its session', async (t) => {
  const { agent, prompts } = paying()
  const { join } = createTestCluster()
  const engines = [join(), join()].map(({ stores }) => createRunEngine({ stores, drainTimeout: 10_000 }))
  const [first, second] = engines as [RunEngine, RunEngine]
  for (const engine of engines) {
    t.teardown(() => engine.close())
    await engine.resume(agent)
    await engine.recover()
  }
  const run = await first.start(agent, 'First', { sessionId })
  const inputId = await whenAsked(second, run.runId)
  const next = await second.start(agent, 'Then?', { sessionId })
  await first.close()
  await second.answer(inputId, { approved: true })
  t.match(await next.result(), { text: 'then' })
  t.match(prompts.at(-1), /First.*paid.*done.*Then\?/)
})
