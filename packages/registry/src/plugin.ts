import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { areInUse, bringerOf, noteEngine, requireNoEngine } from './app/engine-order.ts'
import { requireOptions, type EventBus, type Stores } from '@svc/contract'
import { REG_ERR_PLUGIN_ORDER, REG_ERR_REGISTERED_TWICE, REG_ERR_STORE_IN_USE } from '@svc/contract/errors'
import { ENGINE_DEFAULTS, PluginOptionsSchema, type EnginePluginOptions } from './options.ts'
import type { ExposedRunnable } from './access/surfaces.ts'
import { globalRegistry, type Registry } from './registry.ts'
import { createRunEngine } from './engine/engine.ts'
import { recoverInBackground } from './recovery/recovery.ts'
import type { RunEngine } from './engine/run-engine.ts'
import type { Schedules } from './schedules/schedules.ts'
import type { Sessions } from './sessions/sessions.ts'
import type { Webhooks } from './webhooks/webhooks.ts'
import { defaultCloseDelay, serveOn, whileServing } from './app/while-serving.ts'

const NAME = '@svc/registry'

/** Options of the plugin; the default of `stores` is that of `@svc/store` if its plugin is registered before. */
export type RegistryPluginOptions = EnginePluginOptions<Registry>

declare module 'fastify' {
  interface FastifyInstance {
    registry: Registry
    runs: RunEngine
    schedules: Schedules
    sessions: Sessions
    webhooks: Webhooks
    events: EventBus
  }
}

/** The plugin that creates an engine, and the scope whose store it uses. */
interface Maker {
  plugin: string
  scope: FastifyInstance
}

/** The registry and the run engine of an app or a scope: `fastify.registry`, `runs`, `sessions`, `schedules`, `webhooks` and `events`. */
export function installEngine(
  app: FastifyInstance,
  options: RegistryPluginOptions,
  { plugin, scope }: Maker
): void {
  requireOptions(PluginOptionsSchema, withoutPrefix(options))
  requireOwnEngine(app, options.stores === undefined ? storesOf(scope) : undefined)
  const { registry = globalRegistry, stores = storesOf(scope), ...others } = options
  const { closeDelay = defaultCloseDelay(stores), ...rest } = others
  const { drainTimeout = ENGINE_DEFAULTS.drainTimeout } = options
  const runs = createRunEngine({
    ...withoutPrefix(rest),
    stores,
    drainTimeout,
    log: app.log
  })

  noteEngine(app, plugin, stores ?? runs.stores)
  runs.surfaces.add({ surface: 'the app', registry })

  app.decorate('registry', registry)
  app.decorate('runs', runs)
  app.decorate('schedules', runs.schedules)
  app.decorate('sessions', runs.sessions)
  app.decorate('webhooks', runs.webhooks)
  app.decorate('events', runs.events)
  let unsubscribe: (() => void) | undefined
  app.addHook('onReady', async () => {
    runs.surfaces.ready(stores === undefined)
  })
  app.addHook('onReady', async () => {
    unsubscribe = runs.surfaces.watch({
      added: resume,
      removed: (exposed) => runs.release(exposed.runnable, exposed.registry)
    })
    for (const exposed of runs.surfaces.list()) void resume(exposed)
    // The app serves in the meantime; /readyz reports when recovery is done.
    void recoverInBackground(runs, app.log)
  })
  whileServing(app, async () => void (await Promise.all([runs.close(), serveOn(app, closeDelay)])))
  app.addHook('preClose', async () => {
    unsubscribe?.()
    await runs.drain(Math.min(drainTimeout, hookTimeoutOf(app)))
    await runs.close()
  })

  async function resume({ runnable, registry: id }: ExposedRunnable): Promise<void> {
    const resumed = await runs.resume(runnable, id)
    if (resumed > 0) app.log.info({ resumed, name: runnable.name }, 'interrupted runs resumed')
  }
}

// A scope may have an engine of its own, but two engines on one store would both resume the runs that a restart left.
function requireOwnEngine(app: FastifyInstance, store: Stores | undefined): void {
  const isInUse = store !== undefined && areInUse(app, store)
  if (!Object.hasOwn(app, 'runs') && !isInUse) return
  if (bringerOf(app) === NAME) throw new REG_ERR_REGISTERED_TWICE()
  requireNoEngine(app, REG_ERR_PLUGIN_ORDER)
  if (isInUse) throw new REG_ERR_STORE_IN_USE()
}

// Fastify itself adds `prefix` to a plugin's options.
function withoutPrefix<T extends object>({ prefix: _, ...options }: T & { prefix?: string }) {
  return options
}

const FASTIFY_PLUGIN_TIMEOUT = 10_000
/** Milliseconds left for other hooks. */
const HEADROOM = 1_000

// Fastify aborts hooks, including those of closing, after its `pluginTimeout`.
function hookTimeoutOf({ initialConfig: { pluginTimeout } }: FastifyInstance): number {
  const timeout = pluginTimeout ?? FASTIFY_PLUGIN_TIMEOUT
  return timeout === 0 ? Infinity : Math.max(0, timeout - HEADROOM)
}

// `@svc/store` is not imported: any `store` decorator will do.
function storesOf(app: FastifyInstance): Stores | undefined {
  return app.hasDecorator('store') ? (app as FastifyInstance & { store: Stores }).store : undefined
}

async function registryPlugin(app: FastifyInstance, options: RegistryPluginOptions): Promise<void> {
  installEngine(app, options, { plugin: NAME, scope: app })
}

export default fp(registryPlugin, { name: NAME, fastify: '5.x' })
