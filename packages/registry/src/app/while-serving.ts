import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { toLoggable, type Stores } from '@svc/contract'
import type { FastifyInstance } from 'fastify'
import { rootOf } from './app-scope.ts'

type Close = () => Promise<void>
const closings = new WeakMap<FastifyInstance, Close[]>()

/**
 * Runs `close` when the app closes, while it still serves: before Fastify answers every request with a 503 and closes the server.
 * All of these callbacks run in parallel and may take as long as they need. They are skipped if the app closes before it is ready.
 */
export function whileServing(app: FastifyInstance, close: Close): void {
  const root = rootOf(app)
  const known = closings.get(root)
  if (known !== undefined) return void known.push(close)
  const all = [close]
  closings.set(root, all)
  // Hooks run in reverse order, and Fastify adds its own before the first `onReady`.
  root.addHook('onReady', async () => void root.addHook('onClose', () => closeAll(root, all)))
}

async function closeAll({ server, log }: FastifyInstance, all: readonly Close[]): Promise<void> {
  for (const outcome of await Promise.allSettled(all.map((close) => close()))) {
    // Thrown, the error would keep Fastify from running its `preClose` hooks.
    if (outcome.status === 'rejected')
      log.error({ err: toLoggable(outcome.reason) }, 'a close callback failed')
  }
  // Fastify waits for every connection, so idle ones must end.
  server.keepAliveTimeout = 1
}

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
