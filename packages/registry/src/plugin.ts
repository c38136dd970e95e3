import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { bringerOf, requireNoEngine } from './engine-order.ts'
import { REG_ERR_PLUGIN_ORDER, REG_ERR_REGISTERED_TWICE } from './errors.ts'
import type { EventBus } from './events/event-bus.ts'
import {
  ENGINE_DEFAULTS,
  PluginOptionsSchema,
  requireOptions,
  type EngineLimits,
  type RetentionOptions
} from './options.ts'
import type { Authorize } from './contract/principal.ts'
import type { Runnable } from './contract/runnable.ts'
import { globalRegistry, type Registry } from './registry.ts'
import { createRunEngine } from './runs/create-run-engine.ts'
import type { RunEngine } from './runs/run-engine.ts'
import type { Stores } from './stores/stores.ts'
import { whileServing } from './while-serving.ts'

/** Options of the plugin. */
export interface RegistryPluginOptions {
  /** Default: the global one. */
  registry?: Registry
  /** Default: those of `@svc/store` when its plugin is registered before, else in memory. */
  stores?: Stores
  limits?: EngineLimits
  retention?: RetentionOptions
  /** Milliseconds that closing waits for the runs under way; default 10,000. */
  drainTimeout?: number
  /** Milliseconds that a run which a restart left waits for its runnable to be registered; default 300,000. */
  resumeTimeout?: number
  /** The policy of runs that go on after a restart, where they had one; without it they may reach nothing. */
  authorize?: Authorize
}

declare module 'fastify' {
  interface FastifyInstance {
    registry: Registry
    runs: RunEngine
    events: EventBus
  }
}

/** The registry and the run engine of an app: `fastify.registry`, `fastify.runs`, `fastify.events`. */
async function registryPlugin(app: FastifyInstance, options: RegistryPluginOptions): Promise<void> {
  requireOptions(PluginOptionsSchema, withoutPrefix(options))
  requireOwnEngine(app, options)
  const { registry = globalRegistry, stores = storesOf(app), ...rest } = options
  const { drainTimeout = ENGINE_DEFAULTS.drainTimeout } = options
  const runs = createRunEngine({
    stores,
    limits: rest.limits,
    retention: rest.retention,
    resumeTimeout: rest.resumeTimeout,
    authorize: rest.authorize,
    drainTimeout,
    log: app.log
  })

  app.decorate('registry', registry)
  app.decorate('runs', runs)
  app.decorate('events', runs.events)
  let unsubscribe: (() => void) | undefined
  app.addHook('onReady', async () => {
    const interrupted = await runs.recover()
    if (interrupted > 0) app.log.warn({ interrupted }, 'runs that a restart interrupted are ended')
    for (const runnable of registry.list()) await resume(runnable)
    unsubscribe = registry.on('change', ({ type, runnable }) =>
      type === 'remove' ? undefined : resume(runnable)
    )
  })
  whileServing(app, () => runs.close())
  app.addHook('preClose', async () => {
    unsubscribe?.()
    await runs.drain(Math.min(drainTimeout, hookTimeoutOf(app)))
    await runs.close()
  })

  async function resume(runnable: Runnable): Promise<void> {
    const resumed = await runs.resume(runnable)
    if (resumed > 0) app.log.info({ resumed, name: runnable.name }, 'runs that a restart interrupted go on')
  }
}

// A scope may have an engine of its own; but two on one store would both go on with what a restart left.
function requireOwnEngine(app: FastifyInstance, { stores }: RegistryPluginOptions): void {
  const isHere = Object.hasOwn(app, 'runs')
  if (isHere || (stores === undefined && app.hasDecorator('store')))
    requireNoEngine(app, bringerOf(app) === undefined ? REG_ERR_REGISTERED_TWICE : REG_ERR_PLUGIN_ORDER)
}

// What Fastify itself puts among a plugin's options.
function withoutPrefix({ prefix: _prefix, ...options }: RegistryPluginOptions & { prefix?: string }): object {
  return options
}

const FASTIFY_PLUGIN_TIMEOUT = 10_000
/** Milliseconds that are left for what else there is to close. */
const HEADROOM = 1_000

// Fastify gives up on hooks that take longer than its `pluginTimeout`, those of closing included.
function hookTimeoutOf({ initialConfig: { pluginTimeout } }: FastifyInstance): number {
  const timeout = pluginTimeout ?? FASTIFY_PLUGIN_TIMEOUT
  return timeout === 0 ? Infinity : Math.max(0, timeout - HEADROOM)
}

// `@svc/store` is not imported: whoever decorates the app with stores is taken.
function storesOf(app: FastifyInstance): Stores | undefined {
  return app.hasDecorator('store') ? (app as FastifyInstance & { store: Stores }).store : undefined
}

export default fp(registryPlugin, { name: '@svc/registry', fastify: '5.x' })
