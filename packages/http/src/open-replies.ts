import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { PassingMap, type Run } from '@svc/registry'
import type { FastifyReply } from 'fastify'
import { HTTP_ERR_CLIENT_CLOSED } from './errors.ts'

/** Milliseconds that a closing app gives replies, after the runs have ended, to reach their clients. */
const GRACE = 1_000

/** The replies that take as long as their run: a client that goes away is noticed, and a closing app ends them. */
export class OpenReplies {
  readonly #open = new PassingMap<number, ServerResponse>()
  #added = 0
  #onEmpty: (() => void) | undefined

  /** Watches over a reply until it is complete or its client has gone; in the latter case the given run is canceled. */
  add(reply: FastifyReply, run?: Run): void {
    const { raw } = reply
    if (raw.destroyed) return leave(reply, run)
    const place = this.#added++
    this.#open.set(place, raw)
    raw.once('close', () => {
      this.#open.delete(place)
      if (!raw.writableFinished) leave(reply, run)
      if (this.#open.size === 0) this.#onEmpty?.()
    })
  }

  /** Resolves when no reply is open; those whose client does not read are broken off. */
  async close(): Promise<void> {
    if (this.#open.size === 0) return
    const empty = new Promise<void>((resolve) => (this.#onEmpty = resolve))
    const overdue = new AbortController()
    await Promise.race([empty, pause(GRACE, undefined, overdue).catch(() => {})])
    overdue.abort()
    for (const raw of this.#open.values()) raw.destroy()
  }
}

// `request.signal` aborts on every POST as soon as its body is read; the end of an unfinished reply is the true sign.
function leave({ log }: FastifyReply, run: Run | undefined): void {
  const { code, message } = new HTTP_ERR_CLIENT_CLOSED()
  log.info({ code, ...(run && { runId: run.runId }) }, message)
  run?.cancel().catch((err: unknown) => log.error({ err, runId: run.runId }, 'the run could not be canceled'))
}
