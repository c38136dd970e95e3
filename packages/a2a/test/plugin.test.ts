import a2a from '@svc/a2a'
import registry from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'

t.test('the plugin registers the run engine', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(a2a)
  t.type(app.runs.start, 'function')
})

t.test('the plugin shares an existing run engine', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  const { runs } = app
  await app.register(a2a)
  t.equal(app.runs, runs)
})
