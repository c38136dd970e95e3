import {
  ensureEngine,
  keepPrivate,
  requireFreePlace,
  rootOf,
  warnOfTimeouts,
  whileServing
} from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { RT_ERR_REGISTERED_TWICE } from './errors.ts'
import { resolveOptions, type RealtimeOptions } from './options.ts'
import { requireStrict } from './requests/strict-requests.ts'
import { clientSecretRoute } from './secrets/client-secret-route.ts'
import { Connections, realtimeRoute, routeUpgrades } from './sockets/realtime-route.ts'
import { createSurface } from './surface.ts'

/** Voice agents over the OpenAI Realtime protocol; adds a run engine to an app that has none. */
async function realtime(app: FastifyInstance, options: RealtimeOptions & RegisterOptions): Promise<void> {
  const settings = resolveOptions(options)
  await ensureEngine(app, '@svc/realtime')
  warnOfTimeouts(app)

  const prefix = (options.prefix ?? '').replace(/\/+$/, '')
  const path = `${app.prefix}${prefix}/realtime`
  const place = `path "${path}"`
  requireFreePlace(rootOf(app), '@svc/realtime', place, (taken) => new RT_ERR_REGISTERED_TWICE(taken))
  const surface = createSurface(app, settings, place, path)
  const connections = new Connections(surface)

  // The scope is encapsulated: nothing in it changes the app.
  const scoped = async (scope: FastifyInstance) => {
    keepPrivate(scope)
    requireStrict(scope, settings)
    realtimeRoute(scope, surface, connections)
    clientSecretRoute(scope, surface)
  }
  await app.register(scoped, { ...settings.registerOptions, prefix })
  routeUpgrades(app, path)
  whileServing(app, async () => {
    await Promise.all([surface.runs.close(), surface.calls.close()])
    await connections.close()
  })
  // Connections of the last moment.
  app.addHook('preClose', () => connections.close())
}

export default fp(realtime, { name: '@svc/realtime', fastify: '5.x' })
