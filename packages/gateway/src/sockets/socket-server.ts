import { requireFreePlace, rootOf } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import fastifySocketIo from 'fastify-socket.io'
import type { Server, ServerOptions } from 'socket.io'
import { GTW_ERR_BAD_OPTION, GTW_ERR_REGISTERED_TWICE } from '../errors.ts'
import { createAttachmentFreeParser } from '../links/attachment-free-parser.ts'
import type { GatewaySettings } from '../options.ts'
import { isRefusedOrigin } from './origins.ts'

/** The settings of a server. */
type ServerSettings = Pick<
  GatewaySettings,
  'io' | 'path' | 'transports' | 'cors' | 'limits' | 'authenticate' | 'cookieName'
>

// The gateway itself disconnects its sockets, after their runs.
const preClose = (done: Function) => void done()

/** Schema of routes that OpenAPI leaves out. */
export const HIDDEN: object = { hide: true }

/** Bytes beyond `limits.payload` that we still read, to explain the disconnect to the client. */
const EXCESS = 1_000_000
/** Milliseconds for a connection to enter a namespace. */
const CONNECT_TIMEOUT = 10_000

/**
 * Returns the given Socket.IO server, or that of the app, `fastify.io`, or creates one on the app's port. Without connection state
 * recovery: clients recover from the logs of their runs.
 * @throws GTW_ERR_BAD_OPTION, GTW_ERR_REGISTERED_TWICE
 */
export async function openSocketServer(app: FastifyInstance, settings: ServerSettings): Promise<Server> {
  const io = settings.io ?? (app.hasDecorator('io') ? app.io : await createServer(app, settings))
  requireNoRecovery(io)
  warnOfPolling(app, io)
  return io
}

// A recovered socket skips all middleware, so also authentication.
function requireNoRecovery(io: Server): void {
  const { opts } = io as unknown as { opts?: { connectionStateRecovery?: unknown } }
  if (opts?.connectionStateRecovery)
    throw new GTW_ERR_BAD_OPTION('io: connectionStateRecovery admits sockets without authentication')
}

async function createServer(app: FastifyInstance, settings: ServerSettings): Promise<Server> {
  const { path, transports, cors, limits, authenticate } = settings
  requireFreePlace(
    rootOf(app),
    '@svc/gateway',
    `path "${path}"`,
    (place) => new GTW_ERR_REGISTERED_TWICE(place)
  )
  const options: Partial<ServerOptions> = {
    path,
    ...(cors !== undefined && { cors }),
    ...(transports !== undefined && { transports: [...transports] }),
    serveClient: false,
    parser: createAttachmentFreeParser(),
    maxHttpBufferSize: limits.payload + Math.min(limits.payload, EXCESS),
    connectTimeout: CONNECT_TIMEOUT,
    allowRequest: ({ headers }, done) => {
      const refused = authenticate !== undefined && isRefusedOrigin(headers, cors)
      done(refused ? 'Not allowed from another origin with a cookie' : null, !refused)
    }
  }
  await app.register(fastifySocketIo.default, { ...options, preClose })
  serveOtherAddresses(app, path)
  return app.io
}

// When the app is ready, if clients may poll a service of several nodes without the app having chosen so.
function warnOfPolling(app: FastifyInstance, io: Server): void {
  if (app.runs.stores.lease === undefined) return
  const { opts } = io as unknown as { opts?: { transports?: unknown } }
  if (opts?.transports !== undefined) return
  app.addHook('onReady', async () =>
    app.log.warn(
      "clients that poll must reach the same node with each request: set transports: ['websocket'] of @svc/gateway, or, behind a load " +
        "balancer with sticky sessions, transports: ['polling', 'websocket']"
    )
  )
}

// `localhost` may be two addresses. Fastify serves the second by another HTTP server, where Socket.IO does not listen, so
// its polling requests arrive at this route.
function serveOtherAddresses(app: FastifyInstance, path: string): void {
  app.route({
    method: ['GET', 'POST', 'OPTIONS'],
    url: `${path}/`,
    exposeHeadRoute: false,
    schema: HIDDEN,
    onRequest(request, reply) {
      reply.hijack()
      app.io.engine.handleRequest(request.raw as never, reply.raw)
    },
    handler: () => undefined
  })
}
