import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Stores } from '@svc/contract'

/** Milliseconds; only where other processes serve the same runs there is one to turn to. */
export const defaultCloseDelay = (stores: Stores | undefined) => (stores?.lease === undefined ? 0 : 1_000)

/**
 * Gives the clients and load balancers of a closing server time to turn to another one: it still accepts connections, but each ends
 * with its next response. A request that crosses with the end of its connection gets no response, so that the time should be longer than
 * active clients wait between two requests.
 *
 * @param time milliseconds
 */
export async function serveOn({ server }: Pick<FastifyInstance, 'server'>, time: number): Promise<void> {
  if (time === 0) return
  server.prependListener('request', endConnection)
  await pause(time)
}

function endConnection({ httpVersionMajor }: IncomingMessage, response: ServerResponse): void {
  // HTTP/2 has no such header.
  if (httpVersionMajor === 1) response.setHeader('connection', 'close')
}
