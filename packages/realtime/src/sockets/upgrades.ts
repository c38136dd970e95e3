import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'

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
export function upgradeOf(request: IncomingMessage): Upgrade | undefined {
  return upgrades.get(request)
}
