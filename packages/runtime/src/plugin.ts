import type { RegistryPluginOptions } from '@svc/registry'
import { ensureEngine, requireFreePlace, requireNoEngine } from '@svc/registry/engine'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { RUN_ERR_PLUGIN_ORDER, RUN_ERR_REGISTERED_TWICE } from './errors.ts'
import { EVENT_SCHEMAS } from './events/events.ts'
import { traceEvents } from './events/trace-events.ts'
import { planMiddleware, type Middleware } from './middleware/middleware.ts'
import { settleMemories } from './memory/run-memory.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Schemas of the payloads on `fastify.events`, by event name. */
    eventSchemas: typeof EVENT_SCHEMAS
  }
}

/** Options of the plugin; includes those of `@svc/registry`, which it passes on. */
export interface RuntimePluginOptions extends RegistryPluginOptions {
  /** Records spans and metrics if `@opentelemetry/api` is installed; default true. */
  telemetry?: boolean
  /** Hooks around all runs of the app, outside those of its agents, teams and workflows. At most 32. */
  use?: readonly Middleware[]
}

const MEMORY_TIMEOUT = 5_000

/**
 * Adds agents to an app: registers `@svc/registry` with its run engine unless present, decorates the event schemas, traces
 * runs with OpenTelemetry, and on close waits for pending writes of memories.
 * @throws RUN_ERR_REGISTERED_TWICE, RUN_ERR_BAD_MIDDLEWARE; RUN_ERR_PLUGIN_ORDER for engine options when the engine already exists
 */
async function runtimePlugin(
  app: FastifyInstance,
  options: RuntimePluginOptions & RegisterOptions
): Promise<void> {
  if (app.hasDecorator('eventSchemas')) throw new RUN_ERR_REGISTERED_TWICE()
  const { telemetry = true, use, prefix: _prefix, ...registryOptions } = options
  const middleware = planMiddleware(use)
  const areGiven = Object.values(registryOptions).some((value) => value !== undefined)
  if (areGiven) requireNoEngine(app, RUN_ERR_PLUGIN_ORDER)
  await ensureEngine(app, '@svc/runtime', registryOptions)
  // A sibling scope may share the engine.
  requireFreePlace(app.events, '@svc/runtime', 'engine', () => new RUN_ERR_REGISTERED_TWICE())
  app.runs.use(middleware)
  app.decorate('eventSchemas', EVENT_SCHEMAS)
  if (telemetry) {
    const stop = await traceEvents(app.events)
    app.addHook('onClose', async () => stop())
  }
  app.addHook('onClose', () => settleMemories(MEMORY_TIMEOUT))
}

export default fp(runtimePlugin, { name: '@svc/runtime', fastify: '5.x' })
