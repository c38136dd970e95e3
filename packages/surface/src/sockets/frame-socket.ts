import { MAX_TIMER, type Awaitable, type Principal } from '@svc/contract'
import type { WebSocket } from 'ws'

/** Bytes that wait to be sent, from which on a sender must wait. */
const FULL = 1_048_576
/** Bytes that wait to be sent, from which on the client counts as gone. */
const STUCK = 16_777_216
/** Bytes of the reason of a close frame. */
const MAX_REASON = 123

/** The text frames that are sent over a WebSocket, which is pinged and ends with a client that answers no ping. */
export class FrameSocket {
  readonly #ws: WebSocket
  readonly #heartbeat: NodeJS.Timeout
  #isAlive = true
  // Resolves once there is room.
  #room: PromiseWithResolvers<void> | undefined

  /** @param heartbeat milliseconds between pings */
  constructor(ws: WebSocket, heartbeat: number) {
    this.#ws = ws
    this.#heartbeat = setInterval(() => this.#ping(), heartbeat).unref()
    ws.on('pong', () => (this.#isAlive = true))
    ws.once('close', () => {
      clearInterval(this.#heartbeat)
      this.#room?.resolve()
    })
  }

  /** True until the connection closes. */
  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** Sends a frame, or a piece of one. @param isLast false if more of the frame follows */
  send(text: string, isLast = true): void {
    const ws = this.#ws
    if (!this.isOpen) return
    ws.send(text, { fin: isLast }, this.#sent)
    if (ws.bufferedAmount > STUCK) ws.terminate()
  }

  /** Undefined if the connection takes more; else resolves when it does, or has closed. */
  untilWritable(): Awaitable<void> {
    if (this.#ws.bufferedAmount <= FULL || !this.isOpen) return undefined
    return (this.#room ??= Promise.withResolvers<void>()).promise
  }

  /** Closes the connection. */
  close(code: number, reason: string): void {
    this.#ws.close(code, Buffer.from(reason).subarray(0, MAX_REASON).toString())
  }

  readonly #sent = (): void => {
    // A slow client takes what waits before a ping; one that is gone takes nothing.
    if (this.#ws.bufferedAmount > 0) this.#isAlive = true
    if (this.#room === undefined || this.#ws.bufferedAmount > FULL) return
    this.#room.resolve()
    this.#room = undefined
  }

  #ping(): void {
    if (!this.#isAlive) return this.#ws.terminate()
    this.#isAlive = false
    this.#ws.ping()
  }
}

/** Counts the frames of a connection within each second of the clock. */
export class FrameRate {
  readonly #perSecond: number
  #second = 0
  #count = 0

  /** @param perSecond frames */
  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Counts a frame; false if there are too many. @param now milliseconds */
  take(now = performance.now()): boolean {
    const second = Math.floor(now / 1_000)
    if (second !== this.#second) [this.#second, this.#count] = [second, 0]
    return ++this.#count <= this.#perSecond
  }
}

/** Calls back when the token of a caller expires; undefined if it does not. */
export function onExpiry({ exp }: Pick<Principal, 'exp'>, listener: () => void): NodeJS.Timeout | undefined {
  if (exp === undefined) return undefined
  return setTimeout(listener, Math.min(Math.max(exp * 1_000 - Date.now(), 0), MAX_TIMER)).unref()
}
