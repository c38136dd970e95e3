import { reserveMemory, sendJson, SSE_HEADERS, SSE_HEARTBEAT, type OpenReplies } from '@svc/surface'
import type { FastifyReply } from 'fastify'
import type { ServerResponse } from 'node:http'
import { FrameStream } from '../http/frame-stream.ts'

/** What keeps watch over a reply, and calls back when its client leaves. */
export interface Watch {
  add(reply: ServerResponse, onLeave: () => void): void
}

/** Options of an exchange. */
export interface ExchangeOptions {
  readonly replies: OpenReplies
  /** Milliseconds between comments on a silent stream. */
  readonly heartbeat: number
  /** The number of responses that a stream has; default one reply. */
  readonly batch?: number
}

/** The reply to one POST: a response as JSON or, once there is more to send or it has been silent for long, a stream of messages. */
export class Exchange {
  readonly #reply: FastifyReply
  readonly #replies: OpenReplies
  readonly #heartbeat: number
  #awaited: number
  #stream: FrameStream | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(reply: FastifyReply, { replies, heartbeat, batch }: ExchangeOptions) {
    this.#reply = reply
    this.#replies = replies
    this.#heartbeat = heartbeat
    this.#awaited = batch ?? 1
    if (batch !== undefined) this.#open()
  }

  /** True if the status has been sent. */
  get isStream(): boolean {
    return this.#stream !== undefined
  }

  /** True if the client has left. */
  get isLeft(): boolean {
    return this.#reply.raw.destroyed
  }

  /** The address of the client, or of the proxy before it. */
  get address(): string {
    return this.#reply.request.ip
  }

  /** Expects that the reply takes long, and calls back if its client leaves. */
  stay(watch: Watch, onLeave: () => void): void {
    this.#timer ??= setInterval(() => this.#open().addText(SSE_HEARTBEAT), this.#heartbeat).unref()
    watch.add(this.#reply.raw, () => {
      clearInterval(this.#timer)
      onLeave()
    })
  }

  /** Waits until a response of about so many bytes may be in memory. @throws RUN_ERR_READER_LEFT */
  reserve(owner: string, bytes: number): Promise<void> | undefined {
    return reserveMemory(this.#reply.raw, owner, bytes)
  }

  /** Resolves once the client has taken what the stream has so far, or has left. */
  async taken(): Promise<void> {
    await this.#stream?.taken()
  }

  /** Sends a message before the response. */
  send(message: object): void {
    if (!this.isLeft) this.#open().add(message)
  }

  /** Sends a response; the last one ends the reply. */
  respond(response: object, status = 200): void {
    const isLast = --this.#awaited === 0
    if (isLast) clearInterval(this.#timer)
    if (this.#stream === undefined) {
      sendJson(this.#replies, this.#reply.code(status), response)
      return
    }
    this.#stream.add(response)
    if (isLast) this.#stream.end()
  }

  #open(): FrameStream {
    if (this.#stream === undefined) {
      this.#stream = new FrameStream()
      this.#reply.headers(SSE_HEADERS).send(this.#stream)
    }
    return this.#stream
  }
}
