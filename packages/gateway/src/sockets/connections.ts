import { setTimeout as pause } from 'node:timers/promises'
import { GTW_ERR_HANDSHAKE_TWICE, GTW_ERR_TOKEN_EXPIRED } from '../errors.ts'
import { breakOff } from '../links/break-off.ts'
import type { EngineSocket } from '../links/link.ts'
import type { Surface } from '../surface.ts'
import { Connection, type GatewaySocket } from './connection.ts'

/** Milliseconds between two looks for tokens that have expired. */
const LOOK_EVERY = 5_000
/** Milliseconds that a closing app gives sockets, after the runs have ended, to be told so. */
const GRACE = 1_000

/** The sockets that are in the namespace. */
export class Connections {
  readonly #open = new Map<EngineSocket, Connection>()
  readonly #surface: Surface
  readonly #shakingHands = new WeakSet<EngineSocket>()
  readonly #looking: NodeJS.Timeout

  constructor(surface: Surface) {
    this.#surface = surface
    this.#looking = setInterval(() => this.#endExpired(), LOOK_EVERY).unref()
  }

  /** Lets a connection authenticate once at a time; Socket.IO would let it in twice. @throws GTW_ERR_HANDSHAKE_TWICE */
  async shakeHands<T>({ conn }: Pick<GatewaySocket, 'conn'>, authenticate: () => Promise<T>): Promise<T> {
    if (this.#shakingHands.has(conn)) {
      // After the client has been told.
      setImmediate(() => conn.close())
      throw new GTW_ERR_HANDSHAKE_TWICE()
    }
    this.#shakingHands.add(conn)
    try {
      return await authenticate()
    } finally {
      this.#shakingHands.delete(conn)
    }
  }

  /** The socket of a connection that is in the namespace. */
  find(conn: EngineSocket): Connection | undefined {
    return this.#open.get(conn)
  }

  /** A socket is in the namespace; undefined where its connection was let in twice, which ends it. */
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

  /** Tells all of them that it is over, once what they follow has been told; breaks off those that do not listen. */
  async close(): Promise<void> {
    clearInterval(this.#looking)
    await until(() => this.#following === 0)
    const links = [...this.#open.keys()]
    for (const { socket } of this.#open.values()) socket.disconnect(true)
    await until(() => links.every(({ readyState }) => readyState === 'closed'))
    for (const link of links) breakOff(link)
  }

  get #following(): number {
    let sum = 0
    for (const { following } of this.#open.values()) sum += following
    return sum
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
