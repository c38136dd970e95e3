import { RUN_ERR_DRAINING } from '@svc/contract/errors'
import type { Connection } from '../sockets/connection.ts'
import type { Surface } from '../surface.ts'

/** The acknowledgement of an event, and the work that follows it. */
export interface Answer {
  ack: object
  after?(): void
}

/** Handles an event; throws to refuse it. */
export type Handler<Payload> = (surface: Surface, connection: Connection, payload: Payload) => Promise<Answer>

/**
 * Refuses to follow what another process continues: its followers have been notified once, and connect to that one.
 * @throws RUN_ERR_DRAINING
 */
export function requireOpen({ closed }: Pick<Surface['runs'], 'closed'>): void {
  if (closed.aborted) throw new RUN_ERR_DRAINING()
}
