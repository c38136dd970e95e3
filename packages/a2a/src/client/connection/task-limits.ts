import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../../errors.ts'

/** The limit of a task, as a multiple of that of one answer. */
const ANSWERS_PER_TASK = 16

/** The limits of a task, besides the size of one answer. */
export interface Limits {
  /** Aborts when the time is over, or the run ends. */
  readonly signal: AbortSignal
  /** Counts received bytes. @throws A2A_ERR_BAD_ANSWER over the limit */
  take(bytes: number): void
}

/** Limits the duration of a task, and the bytes of all its answers. */
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

  /** The error itself, or the time-out that caused it. */
  reasonOf(err: unknown): unknown {
    return this.#deadline.signal.aborted ? this.#deadline.signal.reason : err
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
