import { randomId, type Awaitable } from '@svc/contract'
import type { WebSocket } from 'ws'
import { toClientError } from '../events/read-event.ts'
import type { Emit } from '../events/server-events.ts'

/** Bytes that wait to be sent, from which on a call must wait. */
const FULL = 1_048_576
/** Bytes that wait to be sent, from which on the client counts as gone. */
const STUCK = 16_777_216
/** Bytes of the reason of a close frame. */
const MAX_REASON = 123

/** The events that are sent over a WebSocket. */
export class EventSocket {
  readonly #ws: WebSocket
  readonly #prefix = `event_${randomId()}_`
  readonly #heartbeat: NodeJS.Timeout
  #count = 0
  #isAlive = true
  #waiting: (() => void) | undefined

  /** @param heartbeat milliseconds between pings */
  constructor(ws: WebSocket, heartbeat: number) {
    this.#ws = ws
    this.#heartbeat = setInterval(() => this.#ping(), heartbeat).unref()
    ws.on('pong', () => (this.#isAlive = true))
    ws.once('close', () => {
      clearInterval(this.#heartbeat)
      this.#waiting?.()
    })
  }

  /** Sends an event, and gives it its id. */
  readonly emit: Emit = (event) => {
    const ws = this.#ws
    if (ws.readyState !== ws.OPEN) return
    const { type, ...fields } = event
    ws.send(JSON.stringify({ type, event_id: `${this.#prefix}${++this.#count}`, ...fields }), this.#sent)
    if (ws.bufferedAmount > STUCK) ws.terminate()
  }

  /** Undefined if the connection takes more; else resolves when it does. */
  untilWritable(): Awaitable<void> {
    if (this.#ws.bufferedAmount <= FULL) return undefined
    return new Promise((resolve) => (this.#waiting = resolve))
  }

  /** Sends an error; returns its status. @param eventId the client event at fault */
  fail(err: unknown, eventId: string | null): number {
    const { statusCode, ...error } = toClientError(err)
    this.emit({ type: 'error', error: { ...error, event_id: eventId } })
    return statusCode
  }

  /** Closes the connection. */
  close(code: number, reason: string): void {
    this.#ws.close(code, Buffer.from(reason).subarray(0, MAX_REASON).toString())
  }

  readonly #sent = (): void => {
    if (this.#waiting === undefined || this.#ws.bufferedAmount > FULL) return
    this.#waiting()
    this.#waiting = undefined
  }

  #ping(): void {
    if (!this.#isAlive) return this.#ws.terminate()
    this.#isAlive = false
    this.#ws.ping()
  }
}
