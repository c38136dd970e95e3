import { RT_ERR_NOT_STARTED, RT_ERR_TOO_MANY_EVENTS } from '../errors.ts'

/** Bytes of frames that may wait for a call to begin. */
const MAX_BYTES = 4_194_304

/** Bounds the frames of a connection, and keeps those that arrive before they can be handled. */
export class FrameIntake {
  readonly #perSecond: number
  #second = 0
  #count = 0
  #frames: Buffer[] = []
  #bytes = 0
  #isHolding = true

  /** @param perSecond frames within a second of the clock */
  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /**
   * Counts a frame; true if it is to be handled now, false if it is kept.
   * @param now milliseconds
   * @throws RT_ERR_TOO_MANY_EVENTS, RT_ERR_NOT_STARTED
   */
  take(frame: Buffer, now = performance.now()): boolean {
    const second = Math.floor(now / 1_000)
    if (second !== this.#second) [this.#second, this.#count] = [second, 0]
    if (++this.#count > this.#perSecond) throw new RT_ERR_TOO_MANY_EVENTS()
    if (!this.#isHolding) return true
    this.#bytes += frame.byteLength
    if (this.#bytes > MAX_BYTES) throw new RT_ERR_NOT_STARTED()
    this.#frames.push(frame)
    return false
  }

  /** Keeps frames from now on. @param first a frame that must be handled before them */
  hold(first?: Buffer): void {
    this.#isHolding = true
    if (first === undefined) return
    this.#frames.unshift(first)
    this.#bytes += first.byteLength
  }

  /** Handles the kept frames in their order, until one of them makes the connection hold the others. */
  release(handle: (frame: Buffer) => void): void {
    this.#isHolding = false
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) handle(frame)
  }

  #next(): Buffer | undefined {
    const frame = this.#isHolding ? undefined : this.#frames.shift()
    this.#bytes -= frame?.byteLength ?? 0
    return frame
  }
}
