import { isForeignOrigin } from '@svc/surface'
import type { WebSockets } from '@svc/surface/sockets'
import type { FastifyInstance } from 'fastify'
import { OPENAI_ERR_CROSS_ORIGIN, OPENAI_ERR_UPGRADE_REQUIRED } from '../errors.ts'
import type { Surface } from '../surface.ts'
import { ResponseConnection } from './response-connection.ts'

/** Where responses are, over HTTP and over WebSockets. */
export const RESPONSES = '/responses'

/** `GET /responses`: the handshake of a WebSocket, whose caller is identified as that of a request. */
export function responseSocketRoute(scope: FastifyInstance, surface: Surface, sockets: WebSockets): void {
  const schema = { hide: true } as object
  scope.get(RESPONSES, { schema, exposeHeadRoute: false }, async (request, reply) => {
    if (!sockets.isUpgrade(request)) {
      reply.header('upgrade', 'websocket')
      throw new OPENAI_ERR_UPGRADE_REQUIRED()
    }
    // Browsers let pages of any origin open WebSockets, with the cookies of their user.
    if (isForeignOrigin(request.headers, request.host)) throw new OPENAI_ERR_CROSS_ORIGIN()
    return sockets.accept(request, reply, (ws) => void new ResponseConnection(surface, ws, request))
  })
}
