import { isPromise, unlessLate } from '@svc/contract'
import { WebSocket } from 'ws'
import { unlessAborted } from '@svc/runtime/loop'
import type { ClientEvent, ServerEvent, SessionConfig } from './events.ts'
import {
  RealtimeCodec,
  type Abilities,
  type EarlierItem,
  type RealtimeModel,
  type ServerConnection
} from './realtime-codec.ts'

// Milliseconds between two pings; a connection that answers none is lost.
const PING = 15_000
// Bytes that the provider has not taken; as base64, about a minute of audio.
const MAX_BUFFERED = 4 * 1024 * 1024
const MAX_FRAME = 16 * 1024 * 1024
const SETUP = 'setup'
// The closes by which a provider refuses a session: protocol, data and policy errors, RFC 6455 section 7.4.1.
const REFUSALS = new Set([1002, 1003, 1007, 1008, 1009, 1010])

/** How a connection is opened. */
export interface SocketOptions {
  readonly model: RealtimeModel
  readonly config: SessionConfig
  /** Milliseconds until the session is set up. */
  readonly timeout: number
  readonly signal: AbortSignal
  readonly onEvent: (event: ServerEvent, socket: RealtimeSocket) => void
  /** Called once if the connection is lost after it was opened; the reason is safe for logs. */
  readonly onLost: (reason: string, socket: RealtimeSocket) => void
}

/** One connection to a realtime model, with the state of its codec. It never connects again by itself. */
export class RealtimeSocket {
  readonly abilities: Abilities
  readonly #codec: RealtimeCodec
  readonly #socket: WebSocket
  readonly #options: SocketOptions
  readonly #ping: NodeJS.Timeout
  readonly #ready = Promise.withResolvers<void>()
  #isReady = false
  #isOver = false
  #isAlive = true
  // The provider's code for why it ends the connection.
  #code: string | undefined
  // Set while an event is encoded asynchronously, so that later ones stay behind it.
  #queue: Promise<void> | undefined

  private constructor({ url, headers, protocols }: ServerConnection, options: SocketOptions) {
    this.#options = options
    this.#codec = new RealtimeCodec(options.model)
    this.abilities = this.#codec.abilities
    this.#socket = new WebSocket(url, protocols ?? [], {
      headers,
      perMessageDeflate: false,
      maxPayload: MAX_FRAME
    })
    this.#ready.promise.catch(() => {})
    this.#socket
      .on('open', () => this.send({ type: 'session-update', config: options.config }, SETUP))
      .on('message', (data) => this.#take(data as Buffer))
      .on('pong', () => (this.#isAlive = true))
      .on('unexpected-response', (_request, { statusCode, headers: responseHeaders }) => {
        this.#end(Object.assign(new Error('the connection was refused'), { statusCode, responseHeaders }))
      })
      .on('error', (err) => this.#end(err))
      .on('close', (code) => this.#end(this.#toFault(code)))
    this.#ping = setInterval(() => this.#checkAlive(), PING)
  }

  /**
   * Connects, and sets the session up.
   * @throws any error, for `toModelFault`; the signal's reason if it aborts first
   */
  static async open(options: SocketOptions): Promise<RealtimeSocket> {
    const { model, signal, timeout } = options
    let socket: RealtimeSocket | undefined
    const open = async () => {
      const connection = await model.getServerWebSocketConfig!()
      signal.throwIfAborted()
      socket = new RealtimeSocket(connection, options)
      await socket.#ready.promise
      return socket
    }
    try {
      return await unlessLate(timeout, createTimeout, unlessAborted(signal, open))
    } catch (err) {
      socket?.close()
      throw err
    }
  }

  /** False once it is closed or lost. */
  get isOpen(): boolean {
    return !this.#isOver
  }

  /** Sends an event, unless the provider does not take it. `eventId` names it in the provider's errors, where it has some. */
  send(event: ClientEvent, eventId?: string): void {
    if (this.#queue !== undefined) return this.#enqueue(() => this.#codec.encode(event, eventId))
    const frame = this.#codec.encode(event, eventId)
    if (isPromise(frame)) this.#enqueue(() => frame)
    else this.#write(frame)
  }

  /** Adds an earlier message or call of a tool to the conversation. */
  sendEarlier(item: EarlierItem): void {
    const frame = this.#codec.encodeEarlier(item)
    if (this.#queue === undefined) this.#write(frame)
    else this.#enqueue(() => frame)
  }

  /** Ends the connection; `onLost` is not called. */
  close(): void {
    this.#end()
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.close(1000)
    else this.#socket.terminate()
  }

  #enqueue(encode: () => string | undefined | Promise<string | undefined>): void {
    const tail = (this.#queue ?? Promise.resolve())
      .then(encode)
      .then(
        (frame) => this.#write(frame),
        () => this.#lose('encoding')
      )
      .then(() => {
        if (this.#queue === tail) this.#queue = undefined
      })
    this.#queue = tail
  }

  #write(frame: string | undefined): void {
    if (frame === undefined || this.#socket.readyState !== WebSocket.OPEN) return
    this.#socket.send(frame)
    if (this.#socket.bufferedAmount > MAX_BUFFERED) this.#lose('stalled')
  }

  // Some providers send JSON as binary frames.
  #take(data: Buffer): void {
    if (this.#isOver) return
    this.#isAlive = true
    const { events, reply } = this.#codec.decode(data.toString())
    this.#write(reply)
    for (const event of events) {
      if (this.#isReady) this.#options.onEvent(event, this)
      else this.#setUp(event)
    }
  }

  #setUp(event: ServerEvent): void {
    const { items } = this.abilities
    if (event.type === (items ? 'session-updated' : 'session-created')) {
      this.#isReady = true
      this.#ready.resolve()
    } else if (event.type === 'error') {
      this.#code = event.code
      if (event.clientEventId === SETUP)
        this.#ready.reject(Object.assign(new Error('the session was refused'), { statusCode: 400 }))
    }
  }

  #checkAlive(): void {
    if (!this.#isAlive) return this.#lose('silent')
    this.#isAlive = false
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping()
  }

  #lose(reason: string): void {
    if (this.#isOver) return
    this.#end(Object.assign(new Error(reason), { code: 'ECONNRESET' }), reason)
    this.#socket.terminate()
  }

  #end(fault?: Error, reason = 'closed'): void {
    if (this.#isOver) return
    this.#isOver = true
    clearInterval(this.#ping)
    this.#ready.reject(fault ?? new Error('closed'))
    if (this.#isReady && fault !== undefined) this.#options.onLost(reason, this)
  }

  #toFault(closeCode: number): Error {
    const error = new Error('the connection was closed')
    if (this.#code === 'invalid_api_key') return Object.assign(error, { statusCode: 401 })
    if (REFUSALS.has(closeCode)) return Object.assign(error, { statusCode: 400 })
    return Object.assign(error, { code: 'ECONNRESET' })
  }
}

// The code makes it a fault that may pass.
function createTimeout(): Error {
  return Object.assign(new Error('the session was not set up in time'), { code: 'ETIMEDOUT' })
}
