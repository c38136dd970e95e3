import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { PassingMap } from '../stores/passing-map.ts'
import { whileServing } from '../app/while-serving.ts'

/** Calls back when a reply is over: `complete`, or broken off by its client. */
export function onReplyOver(reply: ServerResponse, listener: (complete: boolean) => void): void {
  let complete = false
  // `writableFinished` is false on the complete replies of `app.inject`, whose socket takes nothing.
  reply.once('finish', () => (complete = true))
  // `request.signal` aborts on every POST as soon as its body is read; the end of an unfinished reply is the true sign.
  reply.once('close', () => listener(complete))
}

/** Milliseconds that a closing app gives replies, after the runs have ended, to reach their clients. */
const GRACE = 1_000

/** The replies that take as long as their run: a client that goes away is noticed, and a closing app ends them. */
export class OpenReplies {
  readonly #open = new PassingMap<number, ServerResponse>()
  #added = 0
  #onEmpty: (() => void) | undefined

  /** Watches over a reply until it is complete or its client has gone, and calls `onLeave` in the latter case. */
  add(reply: ServerResponse, onLeave?: () => void): void {
    if (reply.destroyed) return onLeave?.()
    const place = this.#open.add(this.#added++, reply)
    onReplyOver(reply, (complete) => {
      this.#open.leave(place)
      if (!complete) onLeave?.()
      if (this.#open.size === 0) this.#onEmpty?.()
    })
  }

  /** Ends them with the app, once its runs have ended; those whose client does not read are broken off. */
  endWith(app: FastifyInstance): void {
    whileServing(app, async () => {
      await app.runs.close()
      await this.#untilEmpty()
    })
    // From now on no more of them begin.
    app.addHook('preClose', async () => {
      await this.#untilEmpty()
      for (const reply of this.#open.values()) reply.destroy()
    })
  }

  async #untilEmpty(): Promise<void> {
    if (this.#open.size === 0) return
    const empty = new Promise<void>((resolve) => (this.#onEmpty = resolve))
    const overdue = new AbortController()
    await Promise.race([empty, pause(GRACE, undefined, overdue).catch(() => {})])
    overdue.abort()
  }
}
