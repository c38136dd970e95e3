import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { RunLog } from '@svc/contract'
import type { WebSocket } from 'ws'
import type { Surface } from '../surface.ts'
import type { Handshake } from './admit-handshake.ts'
import { CLOSE, Connection } from './connection.ts'

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
