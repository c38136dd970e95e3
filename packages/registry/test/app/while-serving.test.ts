import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import registry, { createInProcessStores, whileServing } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'

/** A plain app with a route, whose clean-up waits until it is released. */
async function createHeld(options: FastifyServerOptions = {}) {
  const app = Fastify(options)
  const gate = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const order: string[] = []
  app.get('/', async () => 'served')
  await app.register(async (scope) => {
    whileServing(scope, async () => {
      begun.resolve()
      await gate.promise
      order.push('whileServing')
    })
    scope.addHook('preClose', async () => void order.push('preClose'))
  })
  return { app, order, begun: begun.promise, letGo: gate.resolve }
}

const WAYS: Record<string, (app: FastifyInstance) => Promise<void>> = {
  'a promise': (app) => app.close(),
  'a callback': (app) => new Promise((resolve) => app.close(() => resolve())),
  'its disposal': (app) => app[Symbol.asyncDispose]()
}
for (const [way, close] of Object.entries(WAYS)) {
  t.test(`an app that is closed by ${way} serves until the clean-up is done`, async (t) => {
    const { app, order, begun, letGo } = await createHeld()
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    const closed = close(app)
    await begun
    t.equal((await fetch(origin)).status, 200)
    letGo()
    await closed
    t.same(order, ['whileServing', 'preClose'])
    await t.rejects(fetch(origin))
  })
}

t.test('so does one that only receives requests by inject', async (t) => {
  const { app, order, begun, letGo } = await createHeld()
  t.equal((await app.inject('/')).statusCode, 200)
  const closed = app.close()
  await begun
  t.equal((await app.inject('/')).statusCode, 200)
  letGo()
  await closed
  t.same(order, ['whileServing', 'preClose'])
})

t.test('the clean-up may take longer than hooks may', async (t) => {
  const { app, begun, letGo } = await createHeld({ pluginTimeout: 20 })
  await app.ready()
  const closed = app.close()
  await begun
  await new Promise((resolve) => setTimeout(resolve, 60))
  letGo()
  await t.resolves(closed)
})

t.test('an app can be closed before it is ready, or while it starts', async (t) => {
  const early = await createHeld()
  await early.app.close()
  t.same(early.order, ['preClose'])

  const late = await createHeld()
  late.letGo()
  const ready = late.app.ready()
  await late.app.close()
  await ready
  t.ok(late.order.includes('preClose'))

  const slow = await createHeld()
  slow.letGo()
  const hook = Promise.withResolvers<void>()
  const entered = Promise.withResolvers<void>()
  slow.app.addHook('onReady', () => (entered.resolve(), hook.promise))
  const booting = slow.app.ready()
  await entered.promise
  const closed = slow.app.close()
  hook.resolve()
  await booting
  await closed
  t.same(slow.order, ['whileServing', 'preClose'])
})

t.test('a clean-up that fails does not keep others from closing', async (t) => {
  const lines: string[] = []
  const stream = { write: (line: string) => void lines.push(line) }
  const { app, order, letGo } = await createHeld({ logger: { stream } })
  letGo()
  whileServing(app, () => Promise.reject(new Error('broken')))
  await app.ready()
  await app.close()
  t.same(order, ['whileServing', 'preClose'])
  t.match(
    lines.filter((line) => line.includes('"level":50')),
    [/broken/]
  )
})

t.test('a connection with a request in progress does not keep the server open', async (t) => {
  const app = Fastify()
  await app.register(registry)
  const gate = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  app.get('/', () => (asked.resolve(), gate.promise.then(() => 'served')))
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const sent = request(origin, { agent })
  sent.end()
  await asked.promise
  const closed = app.close()
  while (app.server.listening) await new Promise(setImmediate)
  gate.resolve()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  // Fastify keeps connections for 72 seconds.
  await closed
})

async function startHeld(app: FastifyInstance, t: Test) {
  const gate = Promise.withResolvers<void>()
  const run = await app.runs.start(scriptedRunnable([() => gate.promise]), 'x')
  t.teardown(() => gate.resolve())
  return { run, letGo: gate.resolve }
}

t.test('all engines of an app drain at the same time', async (t) => {
  const app = Fastify()
  const engines: FastifyInstance[] = []
  for (const name of ['a', 'b']) {
    await app.register(async (scope) => {
      await scope.register(registry, { stores: createInProcessStores() })
      scope.get(`/${name}`, async () => 'served')
      engines.push(scope)
    })
  }
  await app.ready()
  const held = await Promise.all(engines.map((scope) => startHeld(scope, t)))
  const closed = app.close()
  while (!engines[0]!.runs.draining) await new Promise(setImmediate)
  t.ok(engines.every(({ runs }) => runs.draining))
  t.equal((await app.inject('/a')).statusCode, 200)
  for (const { letGo } of held) letGo()
  await closed
  for (const { run } of held) t.match(await run.result(), { finishReason: 'stop' })
})

t.test('runs have the whole drain time, even if Fastify’s limit for hooks is shorter', async (t) => {
  const app = Fastify({ pluginTimeout: 50 })
  await app.register(registry, { drainTimeout: 60_000 })
  await app.ready()
  const { run, letGo } = await startHeld(app, t)
  const closed = app.close()
  setTimeout(letGo, 150)
  await closed
  t.match(await run.result(), { finishReason: 'stop' })
})

t.test('in an app that was never ready, they have the time-out of hooks', async (t) => {
  const app = Fastify({ pluginTimeout: 1_100 })
  await app.register(registry, { drainTimeout: 60_000 })
  const { run } = await startHeld(app, t)
  const result = run.result().catch((err: { code: string }) => err.code)
  await app.close()
  t.equal(await result, 'RUN_ERR_INTERRUPTED')
})
