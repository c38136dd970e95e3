import { join } from 'node:path'
import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import consolePage from '@svc/console'
import gateway from '@svc/gateway'
import http from '@svc/http'
import openAi from '@svc/openai'
import realtime from '@svc/realtime'
import mcp from '@svc/mcp'
import uiStream from '@svc/ui-stream'
import registry, { createRegistry } from '@svc/registry'
import runtime from '@svc/runtime'
import store from '@svc/store'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import { Server } from 'socket.io'
import t from 'tap'

/** Creates an app that closes after the test. */
function createApp({ teardown }: Pick<typeof t, 'teardown'>): FastifyInstance {
  const app = Fastify()
  teardown(() => app.close().catch(() => {}))
  return app
}

const ENTRANCES: [prefix: string, plugin: FastifyPluginAsync, one: object, other: object, place: string][] = [
  ['HTTP', http, { prefix: '/api' }, { prefix: '/api/' }, '@svc/http .*prefix "/api"'],
  ['HTTP', http, {}, {}, '@svc/http .*prefix "/"'],
  ['GTW', gateway, {}, { namespace: '/' }, '@svc/gateway .*namespace "/"'],
  ['GTW', gateway, { namespace: '/chat' }, { namespace: '/chat' }, '@svc/gateway .*namespace "/chat"'],
  ['A2A', a2a, {}, { basePath: '/' }, '@svc/a2a .*base path "/"'],
  ['A2A', a2a, { basePath: '/a/b' }, { basePath: '/b/', prefix: '/a' }, '@svc/a2a .*base path "/a/b"'],
  ['RT', realtime, {}, {}, '@svc/realtime .*path "/realtime"'],
  ['RT', realtime, { prefix: '/v1' }, { prefix: '/v1/' }, '@svc/realtime .*path "/v1/realtime"'],
  ['MCP', mcp, { prefix: '/api' }, { prefix: '/api/' }, '@svc/mcp .*prefix "/api"'],
  ['UI', uiStream, { prefix: '/api' }, { prefix: '/api/' }, '@svc/ui-stream .*prefix "/api"'],
  ['AGUI', agUi, { prefix: '/api' }, { prefix: '/api/' }, '@svc/ag-ui .*prefix "/api"'],
  ['ANTHROPIC', anthropic, { prefix: '/api' }, { prefix: '/api/' }, '@svc/anthropic .*prefix "/api"'],
  ['OPENAI', openAi, { prefix: '/v1' }, { prefix: '/v1/' }, '@svc/openai .*prefix "/v1"'],
  ['CON', consolePage, { prefix: '/console' }, { prefix: '/console/' }, '@svc/console .*prefix "/console"']
]

t.test('a surface registered twice in one place is refused, with its name and place', async (t) => {
  for (const [prefix, plugin, one, other, place] of ENTRANCES) {
    const app = createApp(t)
    await app.register(plugin, one)
    const again = Promise.resolve(app.register(plugin, other))
    await t.rejects(again, { code: `${prefix}_ERR_REGISTERED_TWICE`, message: new RegExp(place) }, place)
  }
})

t.test('so is one in another scope', async (t) => {
  const app = createApp(t)
  const inScope = async (plugin: FastifyPluginAsync, options: object, prefix: string) => {
    const within: FastifyPluginAsync = async (scope) => {
      await scope.register(plugin, options)
    }
    await app.register(within, { prefix })
  }
  await inScope(http, { prefix: '/b' }, '/a')
  const again = inScope(http, { prefix: '/a/b' }, '')
  await t.rejects(again, { code: 'HTTP_ERR_REGISTERED_TWICE', message: /prefix "\/a\/b"/ })
})

t.test('other places, other apps and other servers are accepted', async (t) => {
  const app = createApp(t)
  for (const prefix of ['/a', '/b']) await app.register(http, { prefix })
  for (const namespace of ['/a', '/b']) await app.register(gateway, { namespace })
  await app.register(gateway, { namespace: '/a', io: new Server() })
  for (const basePath of ['/c', '/d']) await app.register(a2a, { basePath })
  await app.ready()
  for (const prefix of ['/a', '/b']) t.equal((await app.inject(`${prefix}/livez`)).statusCode, 200)
  for (const path of ['/c', '/d']) t.equal((await app.inject(`${path}/tasks`)).statusCode, 200)

  const other = createApp(t)
  await other.register(http, { prefix: '/a' })
  await other.register(gateway, { namespace: '/a' })
  await other.register(a2a, { basePath: '/c' })
  await other.ready()
})

t.test('plugins that an app may have once are refused the second time, by name', async (t) => {
  const once = [
    ['STO', '@svc/store', store, { url: 'sqlite::memory:' }],
    ['REG', '@svc/registry', registry, {}],
    ['RUN', '@svc/runtime', runtime, {}]
  ] as [string, string, FastifyPluginAsync, object][]
  for (const [prefix, name, plugin, options] of once) {
    const app = createApp(t)
    await app.register(plugin, options)
    const again = Promise.resolve(app.register(plugin, options))
    await t.rejects(again, { code: `${prefix}_ERR_REGISTERED_TWICE`, message: new RegExp(name) }, name)
  }
})

t.test('a second registry is reported as a duplicate, even after the surfaces', async (t) => {
  const app = createApp(t)
  await app.register(registry)
  await app.register(http)
  await t.rejects(Promise.resolve(app.register(registry)), { code: 'REG_ERR_REGISTERED_TWICE' })
})

t.test('sibling scopes may each have a store, but not on the same file', async (t) => {
  const url = `sqlite:${join(t.testdir(), 'app.db')}`
  const app = createApp(t)
  const inScope = async (options: object) => {
    await app.register(async (scope) => {
      await scope.register(store, options)
    })
  }
  await inScope({ url })
  await inScope({ url: 'sqlite::memory:' })
  await t.rejects(inScope({ url }), { code: 'STO_ERR_IN_USE', message: /^This or another process has/ })
})

t.test(
  'a scope may have its own registry and engine, but no second engine on the stores of the app',
  async (t) => {
    const echo = { kind: 'agent' as const, name: 'echo', run: async () => 'hello' }
    const app = createApp(t)
    await app.register(http, { prefix: '/all', registry: createRegistry() })
    await app.register(async (scope) => {
      const own = createRegistry()
      own.add(echo)
      await scope.register(registry, { registry: own })
      await scope.register(http, { prefix: '/own' })
      t.not(scope.runs, app.runs)
    })
    const run = (prefix: string) =>
      app.inject({ method: 'POST', url: `${prefix}/agents/echo/run`, payload: { input: 'x' } })
    t.match((await run('/own')).json(), { text: 'hello' })
    t.equal((await run('/all')).statusCode, 404)

    const stored = createApp(t)
    await stored.register(store, { url: `sqlite:${join(t.testdir({}), 'app.db')}` })
    await stored.register(http)
    const second: FastifyPluginAsync = async (scope) => {
      await scope.register(registry, { registry: createRegistry() })
    }
    await t.rejects(Promise.resolve(stored.register(second)), { code: 'REG_ERR_PLUGIN_ORDER' })
  }
)
