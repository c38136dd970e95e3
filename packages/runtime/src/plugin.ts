import { bringEngine, requireFreePlace, requireNoEngine, type RegistryPluginOptions } from '@svc/registry'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { RUN_ERR_PLUGIN_ORDER, RUN_ERR_REGISTERED_TWICE } from './errors.ts'
import { EVENT_SCHEMAS } from './events/events.ts'
import { traceEvents } from './events/trace-events.ts'
import { settleMemories } from './memory/run-memory.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The schemas of the payloads on `fastify.events`, by the names of the events. */
    eventSchemas: typeof EVENT_SCHEMAS
  }
}

/** Options of the plugin; those of the registry's are handed on to it. */
export interface RuntimePluginOptions extends RegistryPluginOptions {
  /** Whether spans and metrics are made where `@opentelemetry/api` is installed; default true. */
  telemetry?: boolean
}

const MEMORY_TIMEOUT = 5_000

/**
 * Agents in an app: brings the registry and its run engine along, unless they are there, and the schemas of the events;
 * tells OpenTelemetry of the runs; waits on closing for what agents remember.
 * @throws RUN_ERR_REGISTERED_TWICE; RUN_ERR_PLUGIN_ORDER for options of an engine that is there already
 */
async function runtimePlugin(
  app: FastifyInstance,
  options: RuntimePluginOptions & RegisterOptions
): Promise<void> {
  if (app.hasDecorator('eventSchemas')) throw new RUN_ERR_REGISTERED_TWICE()
  const { telemetry = true, prefix: _prefix, ...registryOptions } = options
  const areGiven = Object.values(registryOptions).some((value) => value !== undefined)
  if (areGiven) requireNoEngine(app, RUN_ERR_PLUGIN_ORDER)
  await bringEngine(app, '@svc/runtime', registryOptions)
  // In another scope the engine may be the same.
  requireFreePlace(app.events, '@svc/runtime', 'engine', () => new RUN_ERR_REGISTERED_TWICE())
  app.decorate('eventSchemas', EVENT_SCHEMAS)
  if (telemetry) {
    const stop = await traceEvents(app.events)
    app.addHook('onClose', async () => stop())
  }
  app.addHook('onClose', () => settleMemories(MEMORY_TIMEOUT))
}

export default fp(runtimePlugin, { name: '@svc/runtime', fastify: '5.x' })
