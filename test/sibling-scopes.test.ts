import { once } from 'node:events'
import { join } from 'node:path'
import autoload from '@fastify/autoload'
import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registry, { createRegistry, type RunEngine } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import runtime from '@svc/runtime'
import store, { type Store } from '@svc/store'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import { io } from 'socket.io-client'
import t, { type Test } from 'tap'

const agents = [scriptedRunnable([600_000], { name: 'slow' })]
const ENTRANCES: Readonly<Record<string, [plugin: FastifyPluginAsync, options: object]>> = {
  http: [http, { prefix: '/api', agents }],
  gateway: [gateway, { agents }],
  a2a: [a2a, { basePath: '/a2a', agents }]
}
const STORE: [plugin: FastifyPluginAsync, options: object] = [
  store as FastifyPluginAsync,
  { url: 'sqlite::memory:' }
]

/** Creates an app that closes after the test. */
function createApp({ teardown }: Pick<Test, 'teardown'>): FastifyInstance {
  const app = Fastify()
  teardown(() => app.close().catch(() => {}))
  return app
}

const ready = async (app: FastifyInstance) => {
  await app.ready()
}

/** Registers plugins in their own scope. */
function inScope(
  app: FastifyInstance,
  ...plugins: (readonly [plugin: FastifyPluginAsync, options: object])[]
) {
  const scoped = async (scope: FastifyInstance) => {
    for (const [plugin, options] of plugins) await scope.register(plugin, options)
  }
  return Promise.resolve(app.register(scoped))
}

/** True if a store keeps the runs of an engine. */
async function isStored(runs: RunEngine, { runs: records }: Store): Promise<boolean> {
  const { runId } = await runs.start(scriptedRunnable([]), 'x')
  return (await records.get(runId)) !== undefined
}

function* ordersOf<T>(all: readonly T[]): Iterable<T[]> {
  if (all.length === 0) yield []
  for (const [index, first] of all.entries())
    for (const rest of ordersOf(all.toSpliced(index, 1))) yield [first, ...rest]
}

/** Checks that a run started over HTTP can be watched on a socket and canceled over A2A. */
async function requireOneEngine(t: Test, app: FastifyInstance, says: string): Promise<void> {
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const post = async (path: string, body: object) =>
    (
      await fetch(origin + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', prefer: 'respond-async' },
        body: JSON.stringify(body)
      })
    ).json() as Promise<{ runId: string; result: object }>
  const { runId } = await post('/api/agents/slow/run', { input: 'x' })
  const socket = io(origin, { transports: ['websocket'] })
  const done = once(socket as never, 'agent.done')
  t.same(await socket.emitWithAck('run.watch', { runId }), { status: 'working' }, says)
  const params = { id: runId }
  t.match(await post('/a2a', { jsonrpc: '2.0', id: 1, method: 'tasks/cancel', params }), {
    result: { id: runId, status: { state: 'canceled' } }
  })
  t.match(await done, [{ runId, output: { finishReason: 'canceled' } }])
  socket.disconnect()
  await app.close()
}

t.test('surfaces in sibling scopes share the engine of the app, in any order', async (t) => {
  for (const order of ordersOf(Object.keys(ENTRANCES))) {
    const app = createApp(t)
    for (const name of order) await inScope(app, ENTRANCES[name]!)
    await requireOneEngine(t, app, order.join())
  }
})

t.test('so do surfaces loaded by @fastify/autoload', async (t) => {
  for (const order of ordersOf(Object.keys(ENTRANCES))) {
    const files = order.map((name, index) => {
      const options = name === 'http' ? "{ prefix: '/api', agents }" : "{ basePath: '/a2a', agents }"
      const lines = [
        `import plugin from '@svc/${name}'`,
        "import { agents } from '../agents.mjs'",
        `export default async (app) => void (await app.register(plugin, ${name === 'gateway' ? '{ agents }' : options}))`
      ]
      return [`${index}-${name}.mjs`, lines.join('\n')]
    })
    const shared = [
      "import { scriptedRunnable } from '@svc/testing'",
      "export const agents = [scriptedRunnable([600_000], { name: 'slow' })]"
    ]
    const folder = t.testdir({ 'agents.mjs': shared.join('\n'), plugins: Object.fromEntries(files) })
    const dir = join(folder, 'plugins')
    const app = createApp(t)
    await app.register(autoload, { dir })
    await requireOneEngine(t, app, order.join())
  }
})

t.test('runs are stored in the store of the app', async (t) => {
  for (const order of ordersOf(Object.keys(ENTRANCES))) {
    const app = createApp(t)
    await app.register(...STORE)
    for (const name of order) await inScope(app, ENTRANCES[name]!)
    await app.ready()
    t.ok(await isStored(app.runs, app.store), order.join())
  }
})

t.test('a store in a scope that no engine sees is refused, in any order', async (t) => {
  for (const order of ordersOf([...Object.keys(ENTRANCES), 'store'])) {
    const app = createApp(t)
    for (const name of order) await inScope(app, ENTRANCES[name] ?? STORE)
    const message = new RegExp(`that @svc/${order.find((name) => name !== 'store')} brought`)
    await t.rejects(ready(app), { code: 'STO_ERR_UNUSED', message }, order.join())
  }
})

t.test('a scope with a store and a surface provides the store for all', async (t) => {
  const app = createApp(t)
  const stores: Store[] = []
  await app.register(async (scope) => {
    await scope.register(...STORE)
    await scope.register(...ENTRANCES['http']!)
    stores.push(scope.store)
  })
  await inScope(app, ENTRANCES['gateway']!)
  await inScope(app, ENTRANCES['a2a']!)
  await app.ready()
  t.equal(app.hasDecorator('store'), false)
  t.ok(await isStored(app.runs, stores[0]!))
})

t.test('a store without an engine is accepted', async (t) => {
  const app = createApp(t)
  await inScope(app, STORE)
  await t.resolves(ready(app))
})

t.test('a scope can have its own engine and store', async (t) => {
  for (const order of ordersOf(['own', 'http', 'gateway'])) {
    const app = createApp(t)
    const own: FastifyInstance[] = []
    for (const name of order) {
      if (name !== 'own') await inScope(app, ENTRANCES[name]!)
      else
        await app.register(async (scope) => {
          await scope.register(...STORE)
          await scope.register(registry, { registry: createRegistry() })
          await scope.register(http, { prefix: '/own' })
          own.push(scope)
        })
    }
    await app.ready()
    t.not(own[0]!.runs, app.runs, order.join())
    t.ok(await isStored(own[0]!.runs, own[0]!.store))
  }
})

t.test('two engines of an app on one store are refused, in any scopes', async (t) => {
  const app = createApp(t)
  await app.register(...STORE)
  await inScope(app, [registry as FastifyPluginAsync, { registry: createRegistry() }])
  await t.rejects(inScope(app, ENTRANCES['http']!), { code: 'REG_ERR_STORE_IN_USE' })
})

t.test('it warns about an engine in a scope without users', async (t) => {
  const own = [registry as FastifyPluginAsync, { registry: createRegistry(), drainTimeout: 5 }] as const
  const warningsOf = async (...scopes: Parameters<typeof inScope>[1][][]) => {
    const lines: string[] = []
    const app = Fastify({ logger: { level: 'warn', stream: { write: (line) => void lines.push(line) } } })
    t.teardown(() => app.close())
    for (const plugins of scopes) await inScope(app, ...plugins)
    await app.ready()
    return lines.filter((line) => line.includes('run engine'))
  }
  t.match(await warningsOf([own], [ENTRANCES['http']!]), [/register @svc\/registry at the root/])
  t.match(await warningsOf([ENTRANCES['http']!], [own]), [/register @svc\/registry at the root/])
  t.same(await warningsOf([own, ENTRANCES['gateway']!], [ENTRANCES['http']!]), [])
  t.same(await warningsOf([own]), [])
})

t.test('@svc/runtime is registered once for an engine', async (t) => {
  const app = createApp(t)
  const scoped = [runtime as FastifyPluginAsync, { telemetry: false }] as const
  await inScope(app, scoped)
  await t.rejects(inScope(app, scoped), { code: 'RUN_ERR_REGISTERED_TWICE' })
})

t.test('two Socket.IO servers on one path are refused', async (t) => {
  const app = createApp(t)
  await inScope(app, [gateway, { namespace: '/a' }])
  const again = inScope(app, [gateway, { namespace: '/b' }])
  await t.rejects(again, { code: 'GTW_ERR_REGISTERED_TWICE', message: /path "\/socket\.io"/ })
  const other = createApp(t)
  await inScope(other, [gateway, { namespace: '/a' }])
  await inScope(other, [gateway, { namespace: '/b', path: '/other' }])
  await t.resolves(ready(other))
})
