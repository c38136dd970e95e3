import { Type, type Static } from '@sinclair/typebox'
import { RUN_ERR_DRAINING } from '@svc/contract/errors'
import { onReplyOver, type Exposed } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { MCP_ERR_TOO_MANY_SUBSCRIPTIONS } from '../errors.ts'
import type { Exchange } from '../server/call.ts'

/** One who is notified of changes. */
interface Listener {
  begin(): void
  notify(): void
}

/** Subscriptions that are open at the same time: of all callers, and of one. */
const MAX = 1_024
const MAX_OF_CALLER = 64
// A subscription lasts until the app closes, not until its runs have ended.
const WATCH = { add: onReplyOver }

/** The clients that are notified of changes. */
export class Subscriptions {
  readonly #open = new Map<Listener, () => void>()
  readonly #ofCallers = new Map<string, number>()
  #isClosed = false

  /**
   * Notifies a listener of changes until its client leaves or the app closes.
   * @param caller those of one caller are counted
   * @throws MCP_ERR_TOO_MANY_SUBSCRIPTIONS, RUN_ERR_DRAINING
   */
  async last(exchange: Exchange, caller: string, listener: Listener): Promise<void> {
    if (this.#isClosed) throw new RUN_ERR_DRAINING()
    const open = this.#ofCallers.get(caller) ?? 0
    if (this.#open.size >= MAX || open >= MAX_OF_CALLER) throw new MCP_ERR_TOO_MANY_SUBSCRIPTIONS()
    this.#ofCallers.set(caller, open + 1)
    listener.begin()
    await new Promise<void>((resolve) => {
      this.#open.set(listener, resolve)
      exchange.stay(WATCH, resolve)
    })
    this.#open.delete(listener)
    const left = this.#ofCallers.get(caller)! - 1
    if (left === 0) this.#ofCallers.delete(caller)
    else this.#ofCallers.set(caller, left)
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

const wanted = Type.Optional(Type.Boolean())

/** The changes that a client wants to be notified of. */
export const FilterSchema = Type.Object({
  toolsListChanged: wanted,
  promptsListChanged: wanted,
  resourcesListChanged: wanted,
  resourceSubscriptions: Type.Optional(Type.Array(Type.String())),
  taskIds: Type.Optional(Type.Array(Type.String()))
})
type Filter = Static<typeof FilterSchema>

/** The changes that this server reports: those of its lists of tools and prompts. */
export type Honored = Pick<Filter, 'toolsListChanged' | 'promptsListChanged'>

/** The part of a filter that the server keeps to. */
export function toHonored({ toolsListChanged, promptsListChanged }: Filter): Honored {
  return {
    ...(toolsListChanged === true && { toolsListChanged }),
    ...(promptsListChanged === true && { promptsListChanged })
  }
}

/** The notifications of a change, for one who has asked for these. */
export function notificationsOf({ toolsListChanged, promptsListChanged }: Honored): string[] {
  return [
    ...(toolsListChanged === true ? ['notifications/tools/list_changed'] : []),
    ...(promptsListChanged === true ? ['notifications/prompts/list_changed'] : [])
  ]
}
