import type { Connection } from '../sockets/connection.ts'
import type { Surface } from '../surface.ts'

/** The acknowledgement of an event, and the work that follows it. */
export interface Answer {
  ack: object
  after?(): void
}

/** Handles an event; throws to refuse it. */
export type Handler<Payload> = (surface: Surface, connection: Connection, payload: Payload) => Promise<Answer>
