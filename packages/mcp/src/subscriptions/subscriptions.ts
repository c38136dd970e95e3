import { RUN_ERR_DRAINING } from '@svc/registry'
import type { Exposed } from '@svc/registry/kit'
import { onReplyOver } from '@svc/registry/sse'
import type { FastifyInstance } from 'fastify'
import { RPC_CODES, RpcError } from '../protocol/rpc-error.ts'
import type { Exchange } from '../server/exchange.ts'

/** One who is notified of changes. */
interface Listener {
  begin(): void
  notify(): void
}

const MAX = 1_024
// A subscription lasts until the app closes, not until its runs have ended.
const WATCH = { add: onReplyOver }

/** The clients that are notified of changes. */
export class Subscriptions {
  readonly #open = new Map<Listener, () => void>()
  #isClosed = false

  /** Notifies a listener of changes until its client leaves or the app closes. @throws RpcError, RUN_ERR_DRAINING */
  async last(exchange: Exchange, listener: Listener): Promise<void> {
    if (this.#isClosed) throw new RUN_ERR_DRAINING()
    if (this.#open.size >= MAX) throw new RpcError(RPC_CODES.InternalError, 'Too many subscriptions are open')
    listener.begin()
    await new Promise<void>((resolve) => {
      this.#open.set(listener, resolve)
      exchange.stay(WATCH, resolve)
    })
    this.#open.delete(listener)
  }

  /** Reports the changes of these until the app closes. */
  endWith(app: FastifyInstance, exposed: Pick<Exposed, 'onChange'>): void {
    const unwatch = exposed.onChange(() => {
      for (const listener of this.#open.keys()) listener.notify()
    })
    app.addHook('preClose', async () => {
      this.#isClosed = true
      unwatch?.()
      for (const end of this.#open.values()) end()
    })
  }
}
