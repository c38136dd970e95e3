import type { FastifyInstance } from 'fastify'
import { rootOf } from './app-scope.ts'
import { toLoggable } from '../logging/to-loggable.ts'

type Close = () => Promise<void>
const closings = new WeakMap<FastifyInstance, Close[]>()

/**
 * Has `close` run when the app closes, while it still serves: before Fastify refuses every request with a 503 of its own and
 * closes the server. All of them run at the same time, and may take as long as they need. An app that closes before it was
 * ready skips them.
 */
export function whileServing(app: FastifyInstance, close: Close): void {
  const root = rootOf(app)
  const known = closings.get(root)
  if (known !== undefined) return void known.push(close)
  const all = [close]
  closings.set(root, all)
  // What is added last is done first, and Fastify adds its own part before the first `onReady`.
  root.addHook('onReady', async () => void root.addHook('onClose', () => closeAll(root, all)))
}

async function closeAll({ server, log }: FastifyInstance, all: readonly Close[]): Promise<void> {
  for (const outcome of await Promise.allSettled(all.map((close) => close()))) {
    // Thrown, it would keep Fastify from its `preClose` hooks.
    if (outcome.status === 'rejected')
      log.error({ err: toLoggable(outcome.reason) }, 'something could not be closed')
  }
  // Fastify waits for every connection: none is kept for another request any more.
  server.keepAliveTimeout = 1
}
