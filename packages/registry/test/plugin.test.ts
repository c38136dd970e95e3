import registry, { createInProcessStores, createRegistry, globalRegistry } from '@svc/registry'
import { codeOf, scriptedRunnable, storedRun, textEntry } from '@svc/testing'
import Fastify from 'fastify'
import t from 'tap'

t.test('decorates the app', async (t) => {
  const app = Fastify()
  await app.register(registry)
  await app.ready()
  t.equal(app.registry, globalRegistry)
  t.equal(app.events, app.runs.events)
  t.ok(app.hasPlugin('@svc/registry'))
  await app.close()
})

t.test('uses the given registry and stores, or the stores of the app', async (t) => {
  const own = createRegistry()
  const stores = createInProcessStores()
  const app = Fastify()
  app.decorate('store' as never, stores as never)
  await app.register(registry, { registry: own })
  t.equal(app.registry, own)
  const run = storedRun()
  await stores.runs.create(run)
  t.same(await app.runs.get(run.runId), run)
  await app.close()
})

t.test('refuses unknown and invalid options', async (t) => {
  const refused = async (options: object) => codeOf(async () => Fastify().register(registry, options))
  t.equal(await refused({ store: {} }), 'REG_ERR_BAD_OPTION')
  t.equal(await refused({ drainTimeout: -1 }), 'REG_ERR_BAD_OPTION')
  t.equal(await refused({ limits: { maxRuns: 0 } }), 'REG_ERR_BAD_OPTION')
  t.equal(await refused({ limits: { runs: 1 } }), 'REG_ERR_BAD_OPTION')
})

t.test('ends runs interrupted by a crash', async (t) => {
  const stores = createInProcessStores()
  const left = storedRun()
  await stores.runs.create(left)
  await stores.log.append(left.runId, 1, [textEntry(1)], { status: 'working', at: 1 })
  const app = Fastify()
  await app.register(registry, { stores })
  await app.ready()
  t.equal(app.runs.recovering, true, 'nobody waits for it')
  await app.runs.recover()
  t.equal(app.runs.recovering, false)
  t.match(await app.runs.get(left.runId), {
    status: 'failed',
    epoch: 2,
    error: { code: 'RUN_ERR_INTERRUPTED', retryable: true }
  })
  const [, last] = await stores.log.read(left.runId, 0, { entries: 9, bytes: 1e6 })
  t.match(last?.part, { seq: 2, type: 'error', error: { code: 'RUN_ERR_INTERRUPTED' } })
  await app.close()
})

t.test('closing waits for runs, and ends those that exceed the time-out', async (t) => {
  const quick = scriptedRunnable([50, { type: 'text', text: 'done' }], { name: 'quick' })
  const slow = scriptedRunnable([60_000], { name: 'slow' })
  const app = Fastify({ pluginTimeout: 2_000 })
  await app.register(registry)
  const done = await app.runs.start(quick, 'x')
  const cut = await app.runs.start(slow, 'x')
  const result = cut.result()
  t.rejects(result, { code: 'RUN_ERR_INTERRUPTED' })
  await app.close()
  t.match(await done.result(), { text: 'done' })
  t.match(await app.runs.get(cut.runId), { status: 'failed' })
})

t.test('the decorator has only the public interface of the engine', async (t) => {
  const app = Fastify()
  await app.register(registry)
  t.equal(Object.getPrototypeOf(app.runs), Object.prototype)
  t.same(Object.getOwnPropertyNames(app.runs).sort(), [
    'active',
    'answer',
    'cancel',
    'close',
    'closed',
    'drain',
    'draining',
    'events',
    'faultOf',
    'find',
    'findInput',
    'followTransients',
    'get',
    'list',
    'listInputs',
    'parts',
    'record',
    'recover',
    'recovering',
    'refusal',
    'release',
    'resume',
    'schedules',
    'sessions',
    'start',
    'steer',
    'stores',
    'surfaces',
    'use',
    'webhooks'
  ])
  await app.close()
})
