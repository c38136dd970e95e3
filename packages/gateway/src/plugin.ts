import { ensureEngine, exposeSurface, LiveCalls, warnOfTimeouts, whileServing } from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import type { Namespace, Server } from 'socket.io'
import { generateAsyncApi } from './asyncapi/async-api.ts'
import { serveSocket } from './handlers/serve-socket.ts'
import { forceCloseAll } from './links/force-close.ts'
import { hasStandardEncoding } from './links/attachment-free-parser.ts'
import { guardServer } from './links/guarded-server.ts'
import {
  resolveOptions,
  type GatewayMiddleware,
  type GatewayOptions,
  type GatewaySettings
} from './options.ts'
import { authenticateSocket, guardMiddleware } from './sockets/authenticate-socket.ts'
import type { GatewaySocket } from './sockets/connection.ts'
import { Connections } from './sockets/connections.ts'
import { RunKeeper } from './sockets/run-keeper.ts'
import { HIDDEN, openSocketServer } from './sockets/socket-server.ts'
import { errors } from './surface-errors.ts'
import type { Surface } from './surface.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The Socket.IO server. */
    io: Server
  }
}

const WIRE = { plugin: '@svc/gateway', name: 'socket.io', errors }

/** Agents, teams and workflows over Socket.IO; adds a run engine to an app that has none. */
async function gateway(app: FastifyInstance, options: GatewayOptions & RegisterOptions): Promise<void> {
  const settings = resolveOptions(options)
  const { namespace, limits, asyncApi } = settings
  await ensureEngine(app, WIRE.plugin)
  if (settings.io === undefined) warnOfTimeouts(app)
  const io = await openSocketServer(app, settings)
  const surface = createSurface(app, io, settings)
  const { runs, calls, keeper, log } = surface
  const connections = new Connections(surface)
  guardServer(app, io, { namespace, limits, log, find: (link) => connections.find(link) })
  serveNamespace(io.of(namespace), surface, connections)
  if (asyncApi !== undefined) {
    const document = generateAsyncApi({ ...options, authenticate: surface.policy.authenticate ?? false })
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

function createSurface(app: FastifyInstance, io: Server, settings: GatewaySettings): Surface {
  const { namespace, asyncApi, reconnectGrace: grace } = settings
  const place = { place: `namespace "${namespace}"`, owner: io, path: io.path() }
  const document = asyncApi && app.prefix + asyncApi.path
  const surface = exposeSurface(app, WIRE, { ...place, document }, settings)
  const { control } = surface.runs.stores
  const keeper = new RunKeeper({ grace, control, log: app.log })
  const encoding = hasStandardEncoding(io) ? namespace : undefined
  return { ...surface, keeper, calls: new LiveCalls(surface, grace), encoding }
}

function serveNamespace(namespace: Namespace, surface: Surface, connections: Connections): void {
  const { policy, settings, log } = surface
  const identify: GatewayMiddleware = async (socket: GatewaySocket, next) => {
    const authenticating = () => authenticateSocket(socket, policy, settings)
    socket.data.principal = await connections.authenticateOnce(socket, authenticating)
    next()
  }
  for (const each of [identify, ...settings.middleware]) namespace.use(guardMiddleware(log, each))
  namespace.on('connection', (socket) => {
    const connection = connections.open(socket as GatewaySocket)
    if (connection !== undefined) serveSocket(surface, connection)
  })
}

export default fp(gateway, { name: '@svc/gateway', fastify: '5.x' })
