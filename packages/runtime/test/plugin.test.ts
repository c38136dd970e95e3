import registry, { createRegistry } from '@svc/registry'
import runtime, { Agent, EVENT_SCHEMAS } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import Fastify from 'fastify'
import t from 'tap'

t.test('registers the registry and the engine', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const mine = createRegistry()
  await app.register(runtime, { registry: mine })
  await app.ready()
  t.equal(app.registry, mine)
  t.equal(app.eventSchemas, EVENT_SCHEMAS)
  const agent = new Agent({ name: 'plugged', model: scriptedModel('Hello.'), registry: mine })
  const completed = Promise.withResolvers<string>()
  app.events.on('run.complete', ({ runId }) => completed.resolve(runId))
  const run = await app.runs.start(agent, 'Hi')
  t.match(await run.result(), { text: 'Hello.', finishReason: 'stop', runId: run.runId })
  t.equal(await completed.promise, run.runId)
})

t.test('uses an existing registry and engine', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const mine = createRegistry()
  await app.register(registry, { registry: mine })
  await app.register(runtime)
  t.equal(app.registry, mine)
})
