import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { within } from '@svc/contract'
import { PassingMap } from '@svc/contract/stores'
import { whileServing } from '@svc/registry'

/** Calls back when a reply ends: `complete`, or aborted by its client. */
export function onReplyOver(reply: ServerResponse, listener: (complete: boolean) => void): void {
  let complete = false
  // `writableFinished` is false for complete replies of `app.inject`, which has no real socket.
  reply.once('finish', () => (complete = true))
  // `request.signal` aborts on every POST once its body is read; only an unfinished reply means a disconnect.
  reply.once('close', () => listener(complete))
}

/** Milliseconds that a closing app gives replies to reach their clients, after the runs have ended. */
const GRACE = 1_000

/** Tracks replies that last as long as their run: detects disconnected clients, and ends the replies when the app closes. */
export class OpenReplies {
  readonly #open = new PassingMap<number, ServerResponse>()
  #added = 0
  #onEmpty: (() => void) | undefined

  /** Tracks a reply until it ends; calls `onLeave` if its client disconnects. */
  add(reply: ServerResponse, onLeave?: () => void): void {
    if (reply.destroyed) return onLeave?.()
    const place = this.#open.add(this.#added++, reply)
    onReplyOver(reply, (complete) => {
      this.#open.leave(place)
      if (!complete) onLeave?.()
      if (this.#open.size === 0) this.#onEmpty?.()
    })
  }

  /** Ends the replies when the app closes, once its runs have ended; replies that are not read are destroyed. */
  endWith(app: FastifyInstance): void {
    whileServing(app, async () => {
      await app.runs.close()
      await this.#untilEmpty()
    })
    // From here on no new replies start.
    app.addHook('preClose', async () => {
      await this.#untilEmpty()
      for (const reply of this.#open.values()) reply.destroy()
    })
  }

  async #untilEmpty(): Promise<void> {
    if (this.#open.size === 0) return
    await within(GRACE, new Promise<void>((resolve) => (this.#onEmpty = resolve)))
  }
}
