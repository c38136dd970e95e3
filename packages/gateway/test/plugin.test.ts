import gateway from '@svc/gateway'
import registry from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'

t.test('the plugin brings the run engine along', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(gateway)
  t.type(app.runs.start, 'function')
})

t.test('the plugin shares the run engine that is there', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  const { runs } = app
  await app.register(gateway)
  t.equal(app.runs, runs)
})
