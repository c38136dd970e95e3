import type { FastifyInstance } from 'fastify'
import { rootOf } from './app-scope.ts'
import { toLoggable } from '@svc/contract'

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
