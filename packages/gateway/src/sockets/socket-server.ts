import { requireFreePlace, rootOf } from '@svc/registry/kit'
import type { FastifyInstance } from 'fastify'
import fastifySocketIo from 'fastify-socket.io'
import type { Server, ServerOptions } from 'socket.io'
import { GTW_ERR_REGISTERED_TWICE } from '../errors.ts'
import { createAttachmentFreeParser } from '../links/attachment-free-parser.ts'
import type { GatewaySettings } from '../options.ts'
import { isRefusedOrigin } from './origins.ts'

/** What of the settings makes a server. */
type ServerSettings = Pick<GatewaySettings, 'path' | 'cors' | 'limits' | 'authenticate' | 'cookieName'>

// The gateway itself says goodbye to its sockets, after their runs.
const preClose = (done: Function) => void done()

/** For routes that OpenAPI does not tell of. */
export const HIDDEN: object = { hide: true }

/** Bytes over `limits.payload`, at most, for which a client is told why it is disconnected. */
const EXCESS = 1_000_000
/** Milliseconds in which a connection must come into a namespace. */
const CONNECT_TIMEOUT = 10_000

/**
 * The app's Socket.IO server, `fastify.io`: the one that is there, or a new one on the app's port. No state recovery: the
 * logs of the runs are the recovery.
 */
export async function openSocketServer(app: FastifyInstance, settings: ServerSettings): Promise<Server> {
  if (app.hasDecorator('io')) return app.io
  const { path, cors, limits, authenticate } = settings
  requireFreePlace(
    rootOf(app),
    '@svc/gateway',
    `path "${path}"`,
    (place) => new GTW_ERR_REGISTERED_TWICE(place)
  )
  const options: Partial<ServerOptions> = {
    path,
    ...(cors !== undefined && { cors }),
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

// `localhost` may be two addresses. Fastify serves the second one with a server of its own, on which Socket.IO does not
// listen: what is polled there comes in as a request for this route.
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
