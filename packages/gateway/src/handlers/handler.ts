import type { Connection } from '../sockets/connection.ts'
import type { Surface } from '../surface.ts'

/** What came of an event: what is acknowledged, and what happens after that. */
export interface Answer {
  ack: object
  after?(): void
}

/** Does what an event asks for; what it throws is the refusal. */
export type Handler<Payload> = (surface: Surface, connection: Connection, payload: Payload) => Promise<Answer>
