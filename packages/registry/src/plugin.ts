import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { EventBus } from './events/event-bus.ts'
import { PluginOptionsSchema, requireOptions, type EngineLimits, type RetentionOptions } from './options.ts'
import { globalRegistry, type Registry } from './registry.ts'
import { requireNode } from './require-node.ts'
import { createRunEngine } from './runs/create-run-engine.ts'
import type { RunEngine } from './runs/run-engine.ts'
import type { Stores } from './stores/stores.ts'

/** Options of the plugin. */
export interface RegistryPluginOptions {
  /** Default: the global one. */
  registry?: Registry
  /** Default: those of `@svc/store` when its plugin is registered before, else in memory. */
  stores?: Stores
  limits?: EngineLimits
  retention?: RetentionOptions
  /**
   * Milliseconds that closing waits for the runs under way; default 10,000, or a second less than the app's
   * `pluginTimeout` where that is shorter. Fastify gives up on closing after `pluginTimeout`.
   */
  drainTimeout?: number
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
  requireNode()
  requireOptions(PluginOptionsSchema, withoutPrefix(options))
  const { registry = globalRegistry, stores = storesOf(app), limits, retention, drainTimeout } = options
  const runs = createRunEngine({
    stores,
    limits,
    retention,
    drainTimeout: drainTimeout ?? drainTimeoutOf(app),
    log: app.log
  })

  app.decorate('registry', registry)
  app.decorate('runs', runs)
  app.decorate('events', runs.events)
  app.addHook('onReady', async () => {
    const interrupted = await runs.recover()
    if (interrupted > 0) app.log.warn({ interrupted }, 'runs that a restart interrupted are ended')
  })
  app.addHook('preClose', () => runs.close())
}

// What Fastify itself puts among a plugin's options.
function withoutPrefix({ prefix: _prefix, ...options }: RegistryPluginOptions & { prefix?: string }): object {
  return options
}

// Fastify gives up on hooks that take longer than its `pluginTimeout`, those of closing included.
function drainTimeoutOf({ initialConfig: { pluginTimeout = 10_000 } }: FastifyInstance): number {
  return pluginTimeout === 0 ? 10_000 : Math.max(0, Math.min(10_000, pluginTimeout - 1_000))
}

// `@svc/store` is not imported: whoever decorates the app with stores is taken.
function storesOf(app: FastifyInstance): Stores | undefined {
  return app.hasDecorator('store') ? (app as FastifyInstance & { store: Stores }).store : undefined
}

export default fp(registryPlugin, { name: '@svc/registry', fastify: '5.x' })
