import { defined, toLoggable, unlessLate, type Awaitable, type RunLog, type Stores } from '@svc/contract'
import { RUN_ERR_STORE } from '@svc/contract/errors'

/** Milliseconds between two checks of failing stores, and for which a check result is reused. */
const POLL_INTERVAL = 1_000
/** Milliseconds until a check times out. */
const CHECK_TIMEOUT = 3_000
/** Milliseconds between two log lines about the same cause. */
const LOG_EVERY = 60_000
// The maximum number of distinct causes to remember, since their texts are arbitrary.
const MAX_CAUSES = 100

// Cause chains may be cyclic.
const MAX_DEPTH = 8
// Shared by all engines: an error logged by one is not logged again.
const reported = new WeakSet<object>()

/** True if this error was caused by a store failure that is already in the log. */
export function isReported(err: unknown): boolean {
  try {
    for (
      let cause = err, depth = 0;
      cause instanceof Error && depth < MAX_DEPTH;
      cause = cause.cause, depth++
    )
      if (reported.has(cause)) return true
  } catch {
    // A getter of the thrown value throws.
  }
  return false
}

/**
 * Watches the stores of an engine. Failures are logged once a minute per cause; then the stores are checked every second until they
 * work again and the refused work has been repeated.
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
   * @param check rejects if the stores cannot read and write
   * @param catchUp repeats the work that the stores refused
   */
  constructor(log: RunLog, check: () => Awaitable<void>, catchUp: () => Promise<void>) {
    this.#log = log
    this.#check = check
    this.#catchUp = catchUp
  }

  /** Records a failure of a store. */
  failed(err: unknown, asked: object): void {
    if (err instanceof Error) reported.add(err)
    this.#failingSince ??= performance.now()
    this.#report(err, asked)
    this.#lookLater()
  }

  /** Checks the stores, once a second at most. @throws RUN_ERR_STORE */
  check(): Promise<void> {
    const now = performance.now()
    return this.#look === undefined || now - this.#lookedAt >= POLL_INTERVAL ? this.#lookNow() : this.#look
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
      await unlessLate(CHECK_TIMEOUT, () => new Error(`no answer within ${CHECK_TIMEOUT} ms`), this.#check())
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
    }, POLL_INTERVAL).unref()
  }

  // True if nothing failed in the meantime.
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

  // A log that throws must not stop the runs.
  #write(level: 'warn' | 'error', details: object, message: string): void {
    try {
      this.#log[level](details, message)
    } catch {}
  }
}

// Milliseconds.
const SWEEP_EVERY = 60_000

/** Sweeps the stores once a minute, until the returned function is called. */
export function sweepRegularly(stores: Stores, log: RunLog): () => void {
  const timer = setInterval(() => void sweepStores(stores, log), SWEEP_EVERY).unref()
  return () => clearInterval(timer)
}

// One store after the other; a failure of one is logged and does not stop the others.
async function sweepStores(
  { runs, sessions, memory, schedules, webhooks }: Stores,
  log: RunLog
): Promise<void> {
  const all = { runs, sessions, memory, ...defined({ schedules, webhooks }) }
  for (const [name, store] of Object.entries(all)) {
    try {
      await store.sweep(Date.now())
    } catch (err) {
      if (!isReported(err))
        log.error({ store: name, err: toLoggable(err) }, 'expired data could not be removed')
    }
  }
}
