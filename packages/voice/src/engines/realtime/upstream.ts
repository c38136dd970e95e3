import { setTimeout as sleep } from 'node:timers/promises'
import { backoffDelay, type RunLog } from '@svc/contract'
import { errors, type Retry } from '@svc/runtime'
import { retryDelay, toModelFault } from '@svc/runtime/loop'
import type { ClientEvent, ServerEvent, SessionConfig } from './events.ts'
import type { RealtimeModel } from './realtime-codec.ts'
import { RealtimeSocket } from './realtime-socket.ts'

/** Times of a connection to a realtime model, in milliseconds. */
export interface ConnectionTimes {
  /** Until a session is set up. */
  readonly connect: number
  /** Until a connection is replaced, before the provider ends it. */
  readonly session: number
}

/** How a call is connected to its model. */
export interface UpstreamOptions {
  readonly model: RealtimeModel
  readonly retry: Retry
  readonly times: ConnectionTimes
  readonly log: RunLog
  readonly runId: string
  /** The settings of the next connection. */
  readonly config: () => SessionConfig
  /** Sends a new connection everything that the model must know. */
  readonly restore: (socket: RealtimeSocket) => void
  readonly onEvent: (event: ServerEvent) => void
  /** The connection is lost, or will be replaced. */
  readonly onReconnect: (attempt: number, reason: string) => void
  /** There will be no further connection. */
  readonly onFatal: (error: unknown) => void
}

// Milliseconds that a provider announces a connection's end ahead, if it does not say.
const NOTICE = 10_000
// Milliseconds before that end in which a connection is replaced even in the middle of an answer.
const MARGIN = 1_000

/** The connection of a call to its realtime model, opened again when it is lost or is about to end. */
export class Upstream {
  readonly #options: UpstreamOptions
  readonly #closing = new AbortController()
  #socket: RealtimeSocket | undefined
  // The successor, until the model and the user are silent.
  #spare: RealtimeSocket | undefined
  // Failures in a row: attempts to connect, and connections that brought nothing.
  #failures = 0
  #isConnecting = false
  #sessionTimer: NodeJS.Timeout | undefined
  #deadline: NodeJS.Timeout | undefined
  #isBusy = false
  // True once the connection brought something.
  #isConfirmed = false

  constructor(options: UpstreamOptions) {
    this.#options = options
  }

  /** The connection; undefined while there is none: `restore` repeats what would have been sent. */
  get socket(): RealtimeSocket | undefined {
    return this.#socket
  }

  /** Connects for the first time. @throws RUN_ERR_MODEL_… */
  async open(): Promise<void> {
    this.#isConnecting = true
    const socket = await this.#connect()
    this.#isConnecting = false
    this.#use(socket)
  }

  send(event: ClientEvent, eventId?: string): void {
    this.#socket?.send(event, eventId)
  }

  /** True while the user speaks or the model answers: a connection that is about to end is used as long as possible then. */
  set isBusy(isBusy: boolean) {
    this.#isBusy = isBusy
    if (!isBusy) this.#useSpare()
  }

  /** The connection works: later failures are retried as often as the first ones. */
  confirm(): void {
    this.#isConfirmed = true
    this.#failures = 0
  }

  /** Replaces a connection that does not respond, or whose settings cannot change. */
  renew(reason: string): void {
    if (this.#spare !== undefined) return this.#useSpare()
    this.#drop()
    this.#replace(reason)
  }

  /** Replaces the connection in the next pause, or shortly before `ms` milliseconds have passed. */
  expire(ms = NOTICE): void {
    if (this.#deadline !== undefined) return
    this.#deadline = setTimeout(
      () => {
        this.#isBusy = false
        this.#useSpare()
      },
      Math.max(0, ms - MARGIN)
    )
    this.#replace('expiring')
  }

  close(): void {
    this.#closing.abort(new Error('the call has ended'))
    this.#drop()
    this.#spare?.close()
  }

  #useSpare(): void {
    const spare = this.#spare
    this.#spare = undefined
    if (spare !== undefined) this.#use(spare)
  }

  #use(socket: RealtimeSocket): void {
    this.#drop()
    if (this.#closing.signal.aborted) return socket.close()
    if (!socket.isOpen) return this.#lose('closed')
    this.#socket = socket
    this.#isConfirmed = false
    this.#sessionTimer = setTimeout(() => this.expire(), this.#options.times.session)
    this.#options.restore(socket)
  }

  #drop(): void {
    clearTimeout(this.#sessionTimer)
    clearTimeout(this.#deadline)
    this.#deadline = undefined
    const socket = this.#socket
    this.#socket = undefined
    socket?.close()
  }

  #lose(reason: string): void {
    this.#drop()
    if (this.#spare !== undefined) return this.#useSpare()
    const { retry, onFatal } = this.#options
    if (!this.#isConfirmed && ++this.#failures >= retry.attempts)
      return onFatal(new errors.RUN_ERR_MODEL_UNREACHABLE())
    this.#replace(reason)
  }

  #replace(reason: string): void {
    if (this.#isConnecting || this.#closing.signal.aborted) return
    this.#isConnecting = true
    this.#options.onReconnect(this.#failures + 1, reason)
    this.#connect().then(
      (socket) => {
        this.#isConnecting = false
        if (this.#isBusy && this.#socket !== undefined) this.#spare = socket
        else this.#use(socket)
      },
      (err: unknown) => {
        this.#isConnecting = false
        if (!this.#closing.signal.aborted && this.#socket === undefined) this.#options.onFatal(err)
      }
    )
  }

  // The first attempt after a connection that worked is made at once.
  async #connect(): Promise<RealtimeSocket> {
    const { signal } = this.#closing
    const { retry } = this.#options
    if (this.#failures > 0) await sleep(backoffDelay(this.#failures, retry), undefined, { signal })
    for (;;) {
      try {
        return await this.#openSocket(signal)
      } catch (err) {
        signal.throwIfAborted()
        await sleep(this.#delayAfter(err, retry), undefined, { signal })
      }
    }
  }

  #openSocket(signal: AbortSignal): Promise<RealtimeSocket> {
    const { model, times, config, onEvent } = this.#options
    return RealtimeSocket.open({
      model,
      config: config(),
      timeout: times.connect,
      signal,
      onEvent: (event, socket) => {
        if (socket === this.#socket) onEvent(event)
      },
      onLost: (reason, socket) => {
        if (socket === this.#socket) this.#lose(reason)
        else if (socket === this.#spare) this.#spare = undefined
      }
    })
  }

  // @throws the failure after the last attempt
  #delayAfter(err: unknown, retry: Retry): number {
    const { log, runId } = this.#options
    const fault = toModelFault(err)
    const delay = retryDelay(fault, ++this.#failures, retry)
    const { code } = fault.error as Error & { code?: string }
    log.warn(
      { runId, attempt: this.#failures, delay, code, ...fault.details },
      'the connection to a realtime model failed'
    )
    if (delay === undefined) throw fault.error
    return delay
  }
}
