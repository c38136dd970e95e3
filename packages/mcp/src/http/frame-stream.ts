import { Readable } from 'node:stream'
import { isShort, nextTurn } from '@svc/contract'
import { encodeEvents, encodeLarge, MAX_WHOLE } from '@svc/surface'

/** The messages of a reply as server-sent events. A large one is encoded as fast as the client reads, one piece per turn of the event loop. */
export class FrameStream extends Readable {
  readonly #frames: (string | Iterator<string>)[] = []
  #isWanted = false
  #isEncoding = false
  #isOver = false
  #onTaken: (() => void) | undefined

  /** Adds a message. */
  add(message: object): void {
    this.addText(isShort(message, MAX_WHOLE) ? encodeEvents([message]) : encodeLarge([message]))
  }

  /** Adds what is encoded already, or will be. */
  addText(frame: string | Iterator<string>): void {
    this.#frames.push(frame)
    this.#flow()
  }

  /** Nothing follows. */
  end(): void {
    this.#isOver = true
    this.#flow()
  }

  /** Resolves once the client has taken all that was added, or has left. */
  async taken(): Promise<void> {
    if (this.destroyed || (this.#frames.length === 0 && this.#isWanted)) return
    await new Promise<void>((resolve) => (this.#onTaken = resolve))
  }

  override _read(): void {
    this.#isWanted = true
    this.#flow()
  }

  override _destroy(err: Error | null, done: (err?: Error | null) => void): void {
    this.#frames.length = 0
    this.#onTaken?.()
    done(err)
  }

  #flow(): void {
    while (this.#isWanted && !this.#isEncoding && !this.destroyed) {
      const [frame] = this.#frames
      if (frame === undefined) {
        this.#onTaken?.()
        this.#onTaken = undefined
        if (this.#isOver) this.push(null)
        return
      }
      if (typeof frame !== 'string') return void this.#encode(frame)
      this.#frames.shift()
      this.#isWanted = this.push(frame)
    }
  }

  async #encode(pieces: Iterator<string>): Promise<void> {
    this.#isEncoding = true
    await nextTurn()
    this.#isEncoding = false
    if (this.destroyed) return
    const { value, done } = pieces.next()
    if (done === true) this.#frames.shift()
    else this.#isWanted = this.push(value)
    this.#flow()
  }
}
