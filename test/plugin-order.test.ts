import a2a from '@svc/a2a'
import agUi from '@svc/ag-ui'
import anthropic from '@svc/anthropic'
import gateway from '@svc/gateway'
import http from '@svc/http'
import mcp from '@svc/mcp'
import openAi from '@svc/openai'
import realtime from '@svc/realtime'
import registry from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import runtime from '@svc/runtime'
import store from '@svc/store'
import uiStream from '@svc/ui-stream'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import t from 'tap'

const BRINGERS: Record<string, FastifyPluginAsync> = {
  '@svc/http': http,
  '@svc/gateway': gateway,
  '@svc/a2a': a2a,
  '@svc/openai': openAi,
  '@svc/realtime': realtime,
  '@svc/mcp': mcp,
  '@svc/ui-stream': uiStream,
  '@svc/ag-ui': agUi,
  '@svc/anthropic': anthropic,
  '@svc/runtime': runtime
}
const WITH_ENGINE = { ...BRINGERS, '@svc/registry': registry as FastifyPluginAsync }
const memory = { url: 'sqlite::memory:' }

/** Creates an app that closes after the test. */
function createApp({ teardown }: Pick<typeof t, 'teardown'>): FastifyInstance {
  const app = Fastify()
  teardown(() => app.close().catch(() => {}))
  return app
}

t.test('a store registered after the run engine is refused', async (t) => {
  for (const [name, plugin] of Object.entries(WITH_ENGINE)) {
    const app = createApp(t)
    await app.register(plugin)
    const registering = Promise.resolve(app.register(store, memory))
    const message = new RegExp(`register @svc/store before ${name}\\b`)
    await t.rejects(registering, { code: 'STO_ERR_PLUGIN_ORDER', message }, name)
  }
})

t.test('so is a store in a scope of an app that has an engine', async (t) => {
  const app = createApp(t)
  await app.register(http)
  await app.register(async (scope) => {
    await scope.register(store, memory)
  })
  await t.rejects(
    async () => {
      await app.ready()
    },
    {
      code: 'STO_ERR_UNUSED',
      message: /the one that @svc\/http brought/
    }
  )
})

t.test('a registry registered after a plugin that created one is refused', async (t) => {
  for (const [name, plugin] of Object.entries(BRINGERS)) {
    const app = createApp(t)
    await app.register(plugin)
    const message = new RegExp(`register @svc/registry before ${name}\\b`)
    await t.rejects(Promise.resolve(app.register(registry)), { code: 'REG_ERR_PLUGIN_ORDER', message }, name)
  }
})

t.test(
  'engine options given after the engine was created are refused; without them any order works',
  async (t) => {
    for (const [name, plugin] of Object.entries(WITH_ENGINE)) {
      if (plugin === runtime) continue
      const app = createApp(t)
      await app.register(plugin)
      const registering = Promise.resolve(app.register(runtime, { limits: { maxRuns: 1 } }))
      const message = new RegExp(`register @svc/runtime before ${name}\\b`)
      await t.rejects(registering, { code: 'RUN_ERR_PLUGIN_ORDER', message }, name)

      const other = createApp(t)
      await other.register(plugin)
      await other.register(runtime, { telemetry: false, prefix: '/x', limits: undefined } as object)
      t.type(other.eventSchemas, 'object', name)
    }
  }
)

t.test('in the right order all plugins work together, and runs are stored', async (t) => {
  const app = createApp(t)
  await app.register(store, memory)
  await app.register(runtime, { limits: { maxRuns: 1 } })
  for (const plugin of [http, gateway, a2a]) await app.register(plugin as FastifyPluginAsync)
  await app.ready()
  const run = await app.runs.start(scriptedRunnable([]), 'x')
  await run.result()
  t.match(await app.store.runs.get(run.runId), { status: 'completed' })
})
