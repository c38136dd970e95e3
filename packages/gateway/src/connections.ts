import { setTimeout as pause } from 'node:timers/promises'
import { Connection, type GatewaySocket } from './connection.ts'
import { GTW_ERR_TOKEN_EXPIRED } from './errors.ts'
import { EventBudget } from './limits.ts'
import { breakOff } from './socket-server.ts'
import type { Surface } from './surface.ts'

/** Milliseconds between two looks for tokens that have expired. */
const LOOK_EVERY = 5_000
/** Milliseconds that a closing app gives sockets, after the runs have ended, to be told so. */
const GRACE = 1_000

/** The sockets that are in the namespace. */
export class Connections {
  readonly #open = new Set<Connection>()
  readonly #surface: Surface
  // Of the connection, not of the socket: who leaves the namespace and comes back gains nothing.
  readonly #budgets = new WeakMap<object, EventBudget>()
  readonly #looking: NodeJS.Timeout

  constructor(surface: Surface) {
    this.#surface = surface
    this.#looking = setInterval(() => this.#endExpired(), LOOK_EVERY).unref()
  }

  /** Counts a handshake as an event; one too many ends the connection. @throws GTW_ERR_TOO_MANY_EVENTS */
  admit({ conn }: Pick<GatewaySocket, 'conn'>): void {
    try {
      this.#budgetOf({ conn }).take()
    } catch (err) {
      // After the client has been told.
      setImmediate(() => conn.close())
      throw err
    }
  }

  open(socket: GatewaySocket): Connection {
    const connection = new Connection(socket, this.#surface, this.#budgetOf(socket))
    this.#open.add(connection)
    socket.on('disconnect', () => {
      this.#open.delete(connection)
      connection.close()
    })
    return connection
  }

  /** Tells all of them that it is over, once what they follow has been told; breaks off those that do not listen. */
  async close(): Promise<void> {
    clearInterval(this.#looking)
    await until(() => this.#following === 0)
    const links = [...this.#open].map(({ socket }) => socket.conn)
    for (const { socket } of this.#open) socket.disconnect(true)
    await until(() => links.every(({ readyState }) => readyState === 'closed'))
    for (const link of links) breakOff(link)
  }

  #budgetOf(socket: Pick<GatewaySocket, 'conn'>): EventBudget {
    let budget = this.#budgets.get(socket.conn)
    if (budget === undefined) {
      budget = new EventBudget(this.#surface.settings.limits.eventsPerSecond)
      this.#budgets.set(socket.conn, budget)
    }
    return budget
  }

  get #following(): number {
    let sum = 0
    for (const { following } of this.#open) sum += following
    return sum
  }

  #endExpired(): void {
    const now = Date.now()
    const { code, message: error } = new GTW_ERR_TOKEN_EXPIRED()
    for (const connection of this.#open)
      if (connection.expired(now)) connection.refuse('gateway.error', { error, code })
  }
}

async function until(isTrue: () => boolean): Promise<void> {
  const end = performance.now() + GRACE
  while (!isTrue() && performance.now() < end) await pause(10)
}
