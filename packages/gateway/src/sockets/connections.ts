import { setTimeout as pause } from 'node:timers/promises'
import { GTW_ERR_HANDSHAKE_TWICE, GTW_ERR_TOKEN_EXPIRED } from '../errors.ts'
import { forceClose } from '../links/force-close.ts'
import type { EngineSocket } from '../links/link.ts'
import type { Surface } from '../surface.ts'
import { Connection, type GatewaySocket } from './connection.ts'

/** Milliseconds between checks for expired tokens. */
const EXPIRY_INTERVAL = 5_000
/** Milliseconds for the last events, and for clients to disconnect, when the app closes. */
const GRACE = 1_000

/** The sockets in the namespace. */
export class Connections {
  readonly #open = new Map<EngineSocket, Connection>()
  readonly #surface: Surface
  readonly #authenticating = new WeakSet<EngineSocket>()
  readonly #expiryTimer: NodeJS.Timeout

  constructor(surface: Surface) {
    this.#surface = surface
    this.#expiryTimer = setInterval(() => this.#endExpired(), EXPIRY_INTERVAL).unref()
  }

  /** Allows one handshake at a time; Socket.IO would admit a connection twice. @throws GTW_ERR_HANDSHAKE_TWICE */
  async authenticateOnce<T>(
    { conn }: Pick<GatewaySocket, 'conn'>,
    authenticate: () => Promise<T>
  ): Promise<T> {
    if (this.#authenticating.has(conn)) {
      // After the refusal is sent.
      setImmediate(() => conn.close())
      throw new GTW_ERR_HANDSHAKE_TWICE()
    }
    this.#authenticating.add(conn)
    try {
      return await authenticate()
    } finally {
      this.#authenticating.delete(conn)
    }
  }

  /** The socket of a connection, once it is in the namespace. */
  find(conn: EngineSocket): Connection | undefined {
    return this.#open.get(conn)
  }

  /** Adds a socket that entered the namespace. A second socket of one connection ends it: then undefined. */
  open(socket: GatewaySocket): Connection | undefined {
    const { conn } = socket
    if (this.#open.has(conn)) return void socket.disconnect(true)
    const connection = new Connection(socket, this.#surface)
    this.#open.set(conn, connection)
    socket.on('disconnect', () => {
      this.#open.delete(conn)
      connection.close()
    })
    return connection
  }

  /** Disconnects all sockets once they have received their last events; closes unresponsive ones by force. */
  async close(): Promise<void> {
    clearInterval(this.#expiryTimer)
    await until(() => [...this.#open.values()].every(({ awaitsEvents }) => !awaitsEvents))
    const links = [...this.#open.keys()]
    for (const { socket } of this.#open.values()) socket.disconnect(true)
    await until(() => links.every(({ readyState }) => readyState === 'closed'))
    for (const link of links) forceClose(link)
  }

  #endExpired(): void {
    const now = Date.now()
    const { code, message: error } = new GTW_ERR_TOKEN_EXPIRED()
    for (const connection of this.#open.values())
      if (connection.expired(now)) connection.refuse('gateway.error', { error, code })
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  const end = performance.now() + GRACE
  while (!isTrue() && performance.now() < end) await pause(10)
}
