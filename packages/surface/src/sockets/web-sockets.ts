import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { WebSocketServer, type WebSocket } from 'ws'
import { CLOSE } from './close-codes.ts'

/** A request to become a WebSocket. */
interface Upgrade {
  readonly socket: Duplex
  readonly head: Buffer
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>()
// The paths of each server whose upgrades its app answers.
const routed = new WeakMap<FastifyInstance['server'], Set<string>>()

/**
 * Routes upgrades of one path through the app, with its hooks, as a GET request; those of paths that nobody has routed are left to the
 * server's other listeners. Plugins that take every upgrade would break those.
 */
export function routeUpgrades(app: FastifyInstance, path: string): void {
  const { server } = app
  const paths = routed.get(server)
  if (paths !== undefined) return void paths.add(path)
  const all = new Set([path])
  routed.set(server, all)
  const listener = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const isOurs = all.has(request.url?.split('?', 1)[0] ?? '')
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

/** Milliseconds for clients to answer the close frame when the app closes. */
const GRACE = 1_000

/** How the WebSockets of a route are opened. */
export interface WebSocketSettings {
  /** Bytes of a message; the connection of a larger one is closed with 1009. */
  readonly maxPayload: number
  /** The subprotocol that is taken, if it is offered. */
  readonly protocol?: string
}

/** The open WebSockets of a route. */
export class WebSockets {
  readonly #server: WebSocketServer
  readonly #open = new Set<WebSocket>()

  constructor({ maxPayload, protocol }: WebSocketSettings) {
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload,
      handleProtocols: (offered) => (protocol !== undefined && offered.has(protocol) ? protocol : false)
    })
  }

  /** True if a request asks to become a WebSocket. */
  isUpgrade({ raw }: Pick<FastifyRequest, 'raw'>): boolean {
    return upgrades.has(raw)
  }

  /** Answers a request that asks to become a WebSocket, and serves it, unless its handshake is invalid. */
  accept({ raw, log }: FastifyRequest, reply: FastifyReply, serve: (ws: WebSocket) => void): FastifyReply {
    const { socket, head } = upgrades.get(raw)!
    reply.hijack()
    reply.raw.detachSocket(socket as never)
    this.#server.handleUpgrade(raw, socket, head, (ws) => {
      this.#open.add(ws)
      ws.once('close', () => this.#open.delete(ws))
      // Invalid frames; ws closes the connection with the code that is due.
      ws.on('error', ({ message }) => log.info({ reason: message }, 'invalid frame'))
      serve(ws)
    })
    return reply
  }

  /** Closes all WebSockets, unresponsive ones by force. */
  async close(): Promise<void> {
    for (const ws of this.#open) ws.close(CLOSE.restart, 'The service restarts')
    const end = performance.now() + GRACE
    while (this.#open.size > 0 && performance.now() < end) await pause(10)
    for (const ws of this.#open) ws.terminate()
  }
}
