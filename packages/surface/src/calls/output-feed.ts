import { isPromise, type AudioFormat, type Awaitable, type VoiceOutput } from '@svc/contract'
import type { CallConnection, CallEnd } from './call-connection.ts'
import { KeptOutputs } from './kept-outputs.ts'

/** An output whose sender waits until the connection takes more. */
interface Waiting {
  readonly position: number
  resolve(): void
}

/** Sends the outputs of a call to one connection after another, at the pace of each: none is lost and none comes twice. */
export class OutputFeed {
  readonly #kept = new KeptOutputs()
  #connection: CallConnection | undefined
  // The position of the next output to send.
  #next = 1
  #isFull = false
  #waiting: Waiting[] = []
  #isReleased = false
  #end: CallEnd | undefined

  get connected(): boolean {
    return this.#connection !== undefined
  }

  /** Adds an output. The promise resolves once it is sent and the connection takes more, or the call has ended. */
  push(output: VoiceOutput, format: AudioFormat): Awaitable<void> {
    if (this.#end !== undefined) return undefined
    this.#kept.add(output, format)
    const position = this.#kept.last
    this.#pump()
    this.#kept.trim(this.connected ? this.#next : position)
    if (this.#isReleased || (this.#next > position && !this.#isFull)) return undefined
    return new Promise((resolve) => this.#waiting.push({ position, resolve }))
  }

  /** Checks that all outputs after a position are kept. @throws VOICE_ERR_BAD_AFTER, VOICE_ERR_OUTPUT_GONE */
  requireAfter(after: number): void {
    this.#kept.requireAfter(after)
  }

  /**
   * Sends to a connection from now on, instead of an earlier one.
   * @param after the last output that the client has; default: the latest
   * @throws VOICE_ERR_BAD_AFTER, VOICE_ERR_OUTPUT_GONE
   */
  connect(connection: CallConnection, after = this.#kept.last): void {
    this.#kept.requireAfter(after)
    const earlier = this.#connection
    this.#connection = connection
    this.#next = after + 1
    this.#isFull = false
    earlier?.replaced()
    this.#pump()
  }

  /** Sends no more to a connection; false if it is not the current one. */
  disconnect(connection: CallConnection): boolean {
    if (this.#connection !== connection) return false
    this.#connection = undefined
    this.#isFull = false
    return true
  }

  /** The client has received all outputs up to a position that was sent to it. */
  acknowledged(position: number): void {
    this.#kept.acknowledged(Math.min(position, this.#next - 1))
  }

  /** The client has played `ms` milliseconds of an answer. @throws VOICE_ERR_UNKNOWN_ITEM, VOICE_ERR_BAD_POSITION */
  played(itemId: string, ms: number): void {
    this.#kept.requireSent(itemId, ms)
    this.#kept.played(itemId, ms, this.#next)
  }

  /** No sender waits any longer: the call is about to end, whether its client takes more or not. */
  release(): void {
    this.#isReleased = true
    for (const { resolve } of this.#waiting) resolve()
    this.#waiting = []
  }

  /** Takes no more outputs; the connection gets the end after what it has not received yet. */
  end(end: CallEnd): void {
    this.#end = end
    this.#pump()
    this.release()
  }

  #pump(): void {
    const connection = this.#connection
    while (connection !== undefined && connection === this.#connection && !this.#isFull) {
      if (this.#next > this.#kept.last) break
      const position = this.#next++
      const taken = connection.send(this.#kept.at(position), position)
      if (!isPromise(taken)) continue
      this.#isFull = true
      void taken.then(() => this.#resume(connection))
    }
    this.#settle()
  }

  #resume(connection: CallConnection): void {
    if (this.#connection !== connection) return
    this.#isFull = false
    this.#pump()
  }

  #settle(): void {
    if (this.#isFull) return
    while (this.#waiting.length > 0 && this.#waiting[0]!.position < this.#next)
      this.#waiting.shift()!.resolve()
    const isSent = this.#next > this.#kept.last
    if (this.#end === undefined || this.#connection === undefined || !isSent) return
    const connection = this.#connection
    this.#connection = undefined
    connection.ended(this.#end)
  }
}
