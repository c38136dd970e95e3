import registryPlugin, { type RegistryPluginOptions } from '@svc/registry'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { EVENT_SCHEMAS } from './events/events.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The schemas of the payloads on `fastify.events`, by the names of the events. */
    eventSchemas: typeof EVENT_SCHEMAS
  }
}

/** Agents in an app: brings the registry and its run engine along, unless they are there, and the schemas of the events. */
async function runtimePlugin(app: FastifyInstance, options: RegistryPluginOptions): Promise<void> {
  if (!app.hasPlugin('@svc/registry')) await app.register(registryPlugin, options)
  app.decorate('eventSchemas', EVENT_SCHEMAS)
}

export default fp(runtimePlugin, { name: '@svc/runtime', fastify: '5.x' })
