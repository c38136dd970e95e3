import {
  DEFAULT_PROVIDER_KEY_HEADERS,
  ensureEngine,
  listNamed,
  LiveCalls,
  requireFreePlace,
  resolvePolicy,
  warnOfTimeouts,
  whileServing
} from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import type { Server } from 'socket.io'
import { generateAsyncApi } from './asyncapi/async-api.ts'
import { GTW_ERR_BAD_OPTION, GTW_ERR_REGISTERED_TWICE } from './errors.ts'
import { serveSocket } from './handlers/serve-socket.ts'
import { forceCloseAll } from './links/force-close.ts'
import { guardServer } from './links/guarded-server.ts'
import { resolveOptions, type GatewayMiddleware, type GatewayOptions } from './options.ts'
import { authenticateSocket, guardMiddleware } from './sockets/authenticate-socket.ts'
import type { GatewaySocket } from './sockets/connection.ts'
import { Connections } from './sockets/connections.ts'
import { RunKeeper } from './sockets/run-keeper.ts'
import { HIDDEN, openSocketServer, warnOfPolling } from './sockets/socket-server.ts'
import type { GatewayPolicy } from './surface.ts'
import { errors } from './surface-errors.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The Socket.IO server. */
    io: Server
  }
}

/** Agents, teams and workflows over Socket.IO; adds a run engine to an app that has none. */
async function gateway(app: FastifyInstance, options: GatewayOptions & RegisterOptions): Promise<void> {
  const settings = resolveOptions(options)
  const { middleware, asyncApi, reconnectGrace } = settings
  await ensureEngine(app, '@svc/gateway')
  if (settings.io === undefined) warnOfTimeouts(app)

  const named = listNamed(settings, GTW_ERR_BAD_OPTION)
  const io = settings.io ?? (await openSocketServer(app, settings))
  requireNoRecovery(io)
  warnOfPolling(app, io)
  const place = `namespace "${settings.namespace}"`
  requireFreePlace(io, '@svc/gateway', place, (taken) => new GTW_ERR_REGISTERED_TWICE(taken))

  const { runs, log } = app
  const policy: GatewayPolicy = resolvePolicy(settings, runs.surfaces.policy)
  const registry = settings.registry ?? app.registry
  const documented = asyncApi && { document: app.prefix + asyncApi.path }
  const wire = { name: 'socket.io', path: io.path(), ...documented }
  const exposed = runs.surfaces.add({ surface: `@svc/gateway ${place}`, registry, named, wire, policy })
  const keeper = new RunKeeper({ grace: reconnectGrace, control: runs.stores.control, log })
  const admitting = {
    runs,
    exposed,
    policy,
    log,
    clientInstructions: settings.clientInstructions,
    clientTools: settings.clientTools,
    providerKeyHeaders: DEFAULT_PROVIDER_KEY_HEADERS,
    errors
  }
  const calls = new LiveCalls(admitting, reconnectGrace)
  const surface = { ...admitting, keeper, calls, settings }
  const connections = new Connections(surface)
  const find = connections.find.bind(connections)
  guardServer(app, io, { namespace: settings.namespace, limits: settings.limits, log, find })
  const namespace = io.of(settings.namespace)
  const identify: GatewayMiddleware = async (socket: GatewaySocket, next) => {
    const authenticating = () => authenticateSocket(socket, policy, settings)
    socket.data.principal = await connections.authenticateOnce(socket, authenticating)
    next()
  }
  namespace.use(guardMiddleware(app.log, identify))
  for (const each of middleware) namespace.use(guardMiddleware(app.log, each))
  namespace.on('connection', (socket) => {
    const connection = connections.open(socket as GatewaySocket)
    if (connection !== undefined) serveSocket(surface, connection)
  })

  if (asyncApi !== undefined) {
    const document = generateAsyncApi({ ...options, authenticate: policy.authenticate ?? false })
    app.get(asyncApi.path, { schema: HIDDEN }, async () => document)
  }
  whileServing(app, async () => {
    await Promise.all([calls.close(), runs.close()])
    await connections.close()
  })
  app.addHook('preClose', async () => {
    // Sockets that connected since.
    await connections.close()
    keeper.close()
    // Connections that never entered the namespace.
    if (settings.io === undefined) forceCloseAll(io)
  })
}

// A recovered socket skips all middleware, so also authentication.
function requireNoRecovery(io: Server): void {
  const { opts } = io as unknown as { opts?: { connectionStateRecovery?: unknown } }
  if (opts?.connectionStateRecovery)
    throw new GTW_ERR_BAD_OPTION('io: connectionStateRecovery admits sockets without authentication')
}

export default fp(gateway, { name: '@svc/gateway', fastify: '5.x' })
