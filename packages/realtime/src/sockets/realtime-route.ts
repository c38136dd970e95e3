import { Type } from '@sinclair/typebox'
import { within } from '@svc/contract'
import { localCallOf } from '@svc/surface'
import type { WebSockets } from '@svc/surface/sockets'
import type { FastifyInstance } from 'fastify'
import { RT_ERR_UPGRADE_REQUIRED } from '../errors.ts'
import type { Surface } from '../surface.ts'
import { admitHandshake, tokenOfProtocols, type HandshakeQuery } from './admit-handshake.ts'
import { Connection } from './connection.ts'

/** Milliseconds for a refusal with an HTTP status: Engine.IO ends upgrades on its server that are unanswered after a second. */
const EARLY = 500
const id = Type.Optional(Type.String({ minLength: 1, maxLength: 512 }))

const HandshakeQuerySchema = Type.Object({ model: id, call: id, call_id: id, sessionId: id, userId: id })

/** `GET /realtime`: the handshake of a WebSocket. */
export function realtimeRoute(scope: FastifyInstance, surface: Surface, sockets: WebSockets): void {
  const schema = { querystring: HandshakeQuerySchema, hide: true } as object
  scope.get<{ Querystring: HandshakeQuery }>(
    '/realtime',
    { schema, exposeHeadRoute: false },
    async (request, reply) => {
      if (!sockets.isUpgrade(request)) {
        reply.header('upgrade', 'websocket')
        throw new RT_ERR_UPGRADE_REQUIRED()
      }
      const { headers, host } = request
      const admitting = admitHandshake(surface, { headers, host, call: localCallOf(request) }, request.query)
      // Browsers show no status of a refusal, but close codes and events.
      if (tokenOfProtocols(headers) === undefined) await within(EARLY, admitting)
      // The connection reports it, unless the handshake itself is invalid.
      admitting.catch(() => {})
      return sockets.accept(request, reply, (ws) => {
        void new Connection(surface, ws, request).begin(admitting)
      })
    }
  )
}
