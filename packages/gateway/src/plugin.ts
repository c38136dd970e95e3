import registry from '@svc/registry'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** The Socket.IO entrance: it shares the app's run engine, and brings it along where it is not there yet. */
async function gateway(app: FastifyInstance): Promise<void> {
  if (!app.hasPlugin('@svc/registry')) await app.register(registry)
}

export default fp(gateway, { name: '@svc/gateway', fastify: '5.x' })
