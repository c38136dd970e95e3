import { ServerResponse, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import { within, type RunLog } from '@svc/contract'
import { localCallOf } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { WebSocketServer, type WebSocket } from 'ws'
import { RT_ERR_UPGRADE_REQUIRED } from '../errors.ts'
import type { Surface } from '../surface.ts'
import { admitHandshake, tokenOfProtocols, type Handshake, type HandshakeQuery } from './admit-handshake.ts'
import { CLOSE, Connection } from './connection.ts'

/** A request to become a WebSocket. */
export interface Upgrade {
  readonly socket: Duplex
  readonly head: Buffer
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>()

/**
 * Routes upgrades of one path through the app, with its hooks, as a GET request; the others are left to the server's other listeners.
 * Plugins that take every upgrade would break those.
 */
export function routeUpgrades(app: FastifyInstance, path: string): void {
  const { server } = app
  const listener = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const isOurs = request.url?.split('?', 1)[0] === path
    // Without other listeners Node.js would have served it as a plain request.
    if (!isOurs && server.listenerCount('upgrade') > 1) return
    if (isOurs) upgrades.set(request, { socket, head })
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket as never)
    // Not just the end of our side: the client of a refused handshake might never end its own.
    response.once('finish', () => socket.end(() => socket.destroy()))
    socket.on('error', () => socket.destroy())
    app.routing(request, response)
  }
  server.on('upgrade', listener)
  app.addHook('onClose', async () => void server.off('upgrade', listener))
}

/** The upgrade that a request asks for; undefined for a plain request. */
function upgradeOf(request: IncomingMessage): Upgrade | undefined {
  return upgrades.get(request)
}

/** Milliseconds for a refusal with an HTTP status: Engine.IO ends upgrades on its server that are unanswered after a second. */
const EARLY = 500
const id = Type.Optional(Type.String({ minLength: 1, maxLength: 512 }))

const HandshakeQuerySchema = Type.Object({ model: id, call: id, call_id: id, sessionId: id, userId: id })

/** `GET /realtime`: the handshake of a WebSocket. */
export function realtimeRoute(scope: FastifyInstance, surface: Surface, connections: Connections): void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: surface.settings.limits.payload,
    handleProtocols: (offered) => (offered.has('realtime') ? 'realtime' : false)
  })
  const schema = { querystring: HandshakeQuerySchema, hide: true } as object
  scope.get<{ Querystring: HandshakeQuery }>(
    '/realtime',
    { schema, exposeHeadRoute: false },
    async (request, reply) => {
      const upgrade = upgradeOf(request.raw)
      if (upgrade === undefined) {
        reply.header('upgrade', 'websocket')
        throw new RT_ERR_UPGRADE_REQUIRED()
      }
      const { headers, host } = request
      const admitting = admitHandshake(surface, { headers, host, call: localCallOf(request) }, request.query)
      // Browsers show no status of a refusal, but close codes and events.
      if (tokenOfProtocols(headers) === undefined) await within(EARLY, admitting)
      // The connection reports it, unless the handshake itself is invalid.
      admitting.catch(() => {})
      reply.hijack()
      reply.raw.detachSocket(upgrade.socket as never)
      server.handleUpgrade(request.raw, upgrade.socket, upgrade.head, (ws) => {
        connections.open(ws, { admitting, headers, log: request.log })
      })
      return reply
    }
  )
}

/** Milliseconds for clients to answer the close frame when the app closes. */
const GRACE = 1_000

/** A WebSocket that was just opened. */
export interface Opened {
  /** Rejects if the client is refused. */
  readonly admitting: Promise<Handshake>
  readonly headers: IncomingHttpHeaders
  readonly log: RunLog
}

/** The open WebSockets. */
export class Connections {
  readonly #surface: Surface
  readonly #open = new Set<WebSocket>()

  constructor(surface: Surface) {
    this.#surface = surface
  }

  /** Serves a WebSocket. */
  open(ws: WebSocket, { admitting, headers, log }: Opened): void {
    this.#open.add(ws)
    ws.once('close', () => this.#open.delete(ws))
    // Invalid frames; ws closes the connection with the code that is due.
    ws.on('error', ({ message }) => log.info({ reason: message }, 'invalid frame'))
    const connection = new Connection(this.#surface, ws, { headers, log })
    void connection.begin(admitting)
  }

  /** Closes all WebSockets, unresponsive ones by force. */
  async close(): Promise<void> {
    for (const ws of this.#open) ws.close(CLOSE.restart, 'The service restarts')
    const end = performance.now() + GRACE
    while (this.#open.size > 0 && performance.now() < end) await pause(10)
    for (const ws of this.#open) ws.terminate()
  }
}
