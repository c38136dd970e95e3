import type { RunLog } from '../../contract/run-log.ts'
import { RUN_ERR_STORE } from '../../errors.ts'
import type { Awaitable } from '../../contract/ports/awaitable.ts'
import { toLoggable } from '../../logging/to-loggable.ts'

/** Milliseconds between two looks at stores that fail, and for which a look is good. */
const LOOK_EVERY = 1_000
/** Milliseconds that a look may take. */
const LOOK_TIMEOUT = 3_000
/** Milliseconds between two lines of the log about one cause. */
const LOG_EVERY = 60_000
// Causes that are told apart: their texts may hold anything.
const MAX_CAUSES = 100

// Causes of causes: an error may even be its own.
const MAX_DEPTH = 8
// Across engines: what one has logged need not be logged by whoever hears of it.
const reported = new WeakSet<object>()

/** Whether a store's fault is at the bottom of this error, and in the log already. */
export function isReported(err: unknown): boolean {
  try {
    for (
      let cause = err, depth = 0;
      cause instanceof Error && depth < MAX_DEPTH;
      cause = cause.cause, depth++
    )
      if (reported.has(cause)) return true
  } catch {
    // What was thrown throws when it is looked at.
  }
  return false
}

/**
 * Watches over the stores of an engine. A fault is logged once a minute by its cause, however many it hits; then the stores are
 * looked at each second until they work again and what they refused is done.
 */
export class StoreWatch {
  readonly #log: RunLog
  readonly #check: () => Awaitable<void>
  readonly #catchUp: () => Promise<void>
  readonly #loggedAt = new Map<string, number>()
  #failingSince: number | undefined
  #isLogged = false
  #timer: NodeJS.Timeout | undefined
  #look: Promise<void> | undefined
  #lookedAt = 0
  #closed = false

  /**
   * @param check makes sure that the stores can read and write
   * @param catchUp does what the stores refused
   */
  constructor(log: RunLog, check: () => Awaitable<void>, catchUp: () => Promise<void>) {
    this.#log = log
    this.#check = check
    this.#catchUp = catchUp
  }

  /** Takes note of what a store threw when it was asked for something. */
  failed(err: unknown, asked: object): void {
    if (err instanceof Error) reported.add(err)
    this.#failingSince ??= performance.now()
    this.#report(err, asked)
    this.#lookLater()
  }

  /** Looks at the stores, once a second at most, whoever asks. @throws RUN_ERR_STORE */
  check(): Promise<void> {
    const now = performance.now()
    return this.#look === undefined || now - this.#lookedAt >= LOOK_EVERY ? this.#lookNow() : this.#look
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #lookNow(): Promise<void> {
    this.#lookedAt = performance.now()
    return (this.#look = this.#requireWorking())
  }

  async #requireWorking(): Promise<void> {
    try {
      await inTime(this.#check())
    } catch (err) {
      this.failed(err, { method: 'check' })
      throw new RUN_ERR_STORE({ cause: err })
    }
  }

  #lookLater(): void {
    if (this.#closed || this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      void this.#isOver().then((isOver) => {
        this.#timer = undefined
        if (!isOver) this.#lookLater()
      })
    }, LOOK_EVERY).unref()
  }

  // Whether nothing failed on the way.
  async #isOver(): Promise<boolean> {
    const since = this.#failingSince
    this.#failingSince = undefined
    try {
      await this.#lookNow()
      await this.#catchUp()
    } catch (err) {
      if (!isReported(err)) this.failed(err, {})
    }
    if (this.#failingSince !== undefined) {
      this.#failingSince = since
      return false
    }
    const seconds = Math.round((performance.now() - since!) / 1_000)
    if (this.#isLogged) this.#write('warn', { seconds }, 'the stores work again')
    this.#isLogged = false
    return true
  }

  #report(err: unknown, asked: object): void {
    const cause = err instanceof Error ? err.message : String(err)
    const now = performance.now()
    if (now - (this.#loggedAt.get(cause) ?? -LOG_EVERY) < LOG_EVERY) return
    if (this.#loggedAt.size === MAX_CAUSES) this.#loggedAt.clear()
    this.#loggedAt.set(cause, now)
    this.#isLogged = true
    this.#write('error', { ...asked, err: toLoggable(err) }, `a store fails: ${cause}`)
  }

  // A log that throws keeps no run from its end.
  #write(level: 'warn' | 'error', details: object, message: string): void {
    try {
      this.#log[level](details, message)
    } catch {}
  }
}

async function inTime(work: Awaitable<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer within ${LOOK_TIMEOUT} ms`)), LOOK_TIMEOUT)
  try {
    await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}
