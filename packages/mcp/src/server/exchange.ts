import { SSE_HEADERS, SSE_HEARTBEAT } from '@svc/registry/sse'
import type { FastifyReply } from 'fastify'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

/** What keeps watch over a reply, and calls back when its client leaves. */
export interface Watch {
  add(reply: ServerResponse, onLeave: () => void): void
}

/** The reply to one POST: a response as JSON or, once there is more to send or it has been silent for long, a stream of messages. */
export class Exchange {
  readonly #reply: FastifyReply
  readonly #heartbeat: number
  #awaited: number
  #stream: Readable | undefined
  #timer: NodeJS.Timeout | undefined

  /** @param heartbeat milliseconds between comments on a silent stream @param batch how many responses a stream has; default one reply */
  constructor(reply: FastifyReply, heartbeat: number, batch?: number) {
    this.#reply = reply
    this.#heartbeat = heartbeat
    this.#awaited = batch ?? 1
    if (batch !== undefined) this.#open()
  }

  /** True if the status has been sent. */
  get isStream(): boolean {
    return this.#stream !== undefined
  }

  /** Expects that the reply takes long, and calls back if its client leaves. */
  stay(watch: Watch, onLeave: () => void): void {
    this.#timer ??= setInterval(() => this.#open().push(SSE_HEARTBEAT), this.#heartbeat).unref()
    watch.add(this.#reply.raw, () => {
      clearInterval(this.#timer)
      onLeave()
    })
  }

  /** Sends a message before the response. */
  send(message: object): void {
    if (!this.#reply.raw.destroyed) this.#open().push(toFrame(message))
  }

  /** Sends a response; the last one ends the reply. */
  respond(response: object, status = 200): void {
    const isLast = --this.#awaited === 0
    if (isLast) clearInterval(this.#timer)
    if (this.#stream === undefined) {
      this.#reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(response))
      return
    }
    this.#stream.push(toFrame(response))
    if (isLast) this.#stream.push(null)
  }

  #open(): Readable {
    if (this.#stream === undefined) {
      this.#stream = new Readable({ read() {} })
      this.#reply.headers(SSE_HEADERS).send(this.#stream)
    }
    return this.#stream
  }
}

function toFrame(message: object): string {
  return `data: ${JSON.stringify(message)}\n\n`
}
