import type { LiveCall } from '@svc/surface'
import type { Socket } from 'socket.io'
import type { Outlet } from '../delivery/outlet.ts'
import { GTW_ERR_CALL_IN_PROGRESS, GTW_ERR_NO_CALL } from '../errors.ts'
import { CallSocket } from './call-socket.ts'

/** Milliseconds between two reports of the same error about frames of audio. */
const REPORT_INTERVAL = 1_000

/** The call of a connection, of which it has one at a time. */
export class CallSlot {
  readonly #socket: Pick<Socket, 'emit' | 'conn'>
  #isTaken = false
  #call: { readonly live: LiveCall; readonly socket: CallSocket } | undefined
  readonly #reportedAt = new Map<string, number>()

  constructor(socket: Pick<Socket, 'emit' | 'conn'>) {
    this.#socket = socket
  }

  /** True if events of a call may still follow. */
  get isTaken(): boolean {
    return this.#isTaken
  }

  /** Reserves the slot for a call that is to be started or continued. @throws GTW_ERR_CALL_IN_PROGRESS */
  async take<T>(find: () => Promise<T>): Promise<T> {
    if (this.#isTaken) throw new GTW_ERR_CALL_IN_PROGRESS()
    this.#isTaken = true
    try {
      return await find()
    } catch (err) {
      this.#isTaken = false
      throw err
    }
  }

  /** Connects the socket to the call that the slot was taken for. @param after as in `LiveCall.connect` */
  connect(live: LiveCall, outlet: Outlet, after: number | undefined): void {
    const left = () => this.#leave()
    const socket = new CallSocket({ call: live, socket: this.#socket, outlet, left })
    this.#call = { live, socket }
    live.connect(socket, after)
  }

  /** The call of the connection. @throws GTW_ERR_NO_CALL */
  require(): LiveCall {
    if (this.#call === undefined) throw new GTW_ERR_NO_CALL()
    return this.#call.live
  }

  /** The socket disconnected. */
  close(): void {
    const call = this.#call
    this.#leave()
    call?.socket.close()
    call?.live.disconnect(call.socket)
  }

  /** True if an error about a frame of audio is to be reported: each once a second. */
  isNews(code: string, now: number = performance.now()): boolean {
    if (now - (this.#reportedAt.get(code) ?? -Infinity) < REPORT_INTERVAL) return false
    this.#reportedAt.set(code, now)
    return true
  }

  #leave(): void {
    this.#call = undefined
    this.#isTaken = false
  }
}
