import { LiveCalls, openSurface, whileServing, type WireDescription } from '@svc/surface'
import { routeUpgrades, WebSockets } from '@svc/surface/sockets'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { RT_ERR_BAD_OPTION } from './errors.ts'
import { errors } from './surface-errors.ts'
import { toErrorBody } from './events/read-event.ts'
import { resolveOptions, type RealtimeOptions } from './options.ts'
import { clientSecretRoute } from './secrets/client-secret-route.ts'
import { ClientSecrets } from './secrets/client-secrets.ts'
import { realtimeRoute } from './sockets/realtime-route.ts'

const WIRE: WireDescription = {
  plugin: '@svc/realtime',
  name: 'realtime',
  path: '/realtime',
  pathName: 'path',
  kinds: ['agent'],
  errors,
  defaults: { clientInstructions: true, clientTools: true },
  toBody: toErrorBody,
  ignoresQueries: true
}

/** Voice agents over the OpenAI Realtime protocol; adds a run engine to an app that has none. */
async function realtime(app: FastifyInstance, options: RealtimeOptions & RegisterOptions): Promise<void> {
  const settings = resolveOptions(options)
  const { secret, reconnectGrace } = settings
  await openSurface(app, WIRE, settings, {
    // A client secret stands for its caller, too.
    guard: (scope) => scope.decorateRequest('caller'),
    add(scope, wire) {
      const { runs, prefix } = wire
      if (runs.stores.lease !== undefined && secret === undefined)
        throw new RT_ERR_BAD_OPTION('secret: several nodes share the stores, and must share it too')
      const calls = new LiveCalls(wire, reconnectGrace)
      const surface = { ...wire, calls, secrets: new ClientSecrets(secret), conversations: new Map() }
      const sockets = new WebSockets({ maxPayload: settings.limits.payload, protocol: 'realtime' })
      realtimeRoute(scope, surface, sockets)
      clientSecretRoute(scope, surface)
      routeUpgrades(app, prefix + WIRE.path)
      whileServing(app, async () => {
        await Promise.all([runs.close(), calls.close()])
        await sockets.close()
      })
      // Connections of the last moment.
      app.addHook('preClose', () => sockets.close())
    }
  })
}

export default fp(realtime, { name: '@svc/realtime', fastify: '5.x' })
