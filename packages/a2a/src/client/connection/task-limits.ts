import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../../errors.ts'

/** A task may send so many times what one answer may. */
const ANSWERS_PER_TASK = 16

/** What bounds an answer besides its own size. */
export interface Limits {
  /** Aborts when there is no time left, or nobody wants it any more. */
  readonly signal: AbortSignal
  /** Counts what has come. @throws A2A_ERR_BAD_ANSWER when it is too much */
  take(bytes: number): void
}

/** What one task of a service may take: its time, and the bytes of all that comes for it. */
export class TaskLimits implements Limits {
  readonly signal: AbortSignal
  readonly #deadline = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #most: number
  #bytes = 0

  constructor(maxBytes: number, timeout: number, outer: AbortSignal) {
    this.#most = maxBytes * ANSWERS_PER_TASK
    this.signal = AbortSignal.any([outer, this.#deadline.signal])
    const over = () => this.#deadline.abort(new A2A_ERR_REMOTE(`its task takes longer than ${timeout} ms`))
    this.#timer = setTimeout(over, timeout).unref()
  }

  take(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#most)
      throw new A2A_ERR_BAD_ANSWER(`it sends more than ${this.#most} bytes for one task`)
  }

  /** Whatever was thrown, or that the time is over, where that is why. */
  reasonOf(err: unknown): unknown {
    return this.#deadline.signal.aborted ? this.#deadline.signal.reason : err
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
