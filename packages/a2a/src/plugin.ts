import registry from '@svc/registry'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** The A2A entrance: it shares the app's run engine, and brings it along where it is not there yet. */
async function a2a(app: FastifyInstance): Promise<void> {
  if (!app.hasPlugin('@svc/registry')) await app.register(registry)
}

export default fp(a2a, { name: '@svc/a2a', fastify: '5.x' })
