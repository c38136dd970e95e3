import { setTimeout as pause } from 'node:timers/promises'
import { toLoggable, type NodeLease, type RunLog } from '@svc/contract'
import type { EngineHost } from '../engine/engine-host.ts'
import type { RunEngine } from '../engine/run-engine.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'

/** Runs recovery: a call during one joins it, and recovery counts as in progress until it has succeeded. */
export class Recovery {
  isInProgress = false
  readonly #recover: () => Promise<number>
  #current: Promise<number> | undefined

  constructor(recover: () => Promise<number>) {
    this.#recover = recover
  }

  /** Returns how many runs ended. @throws what the store throws */
  async run(): Promise<number> {
    if (this.#current !== undefined) return this.#current
    this.isInProgress = true
    try {
      const ended = await (this.#current = this.#recover())
      this.isInProgress = false
      return ended
    } finally {
      this.#current = undefined
    }
  }
}

// Milliseconds between attempts; doubles from the first to the last.
const FIRST_DELAY = 250
const LAST_DELAY = 15_000

/** Recovers the runs that a crash left; retries while the store fails, until the engine closes. */
export async function recoverInBackground(engine: RunEngine, log: RunLog): Promise<void> {
  for (let delay = FIRST_DELAY; !engine.draining; delay = Math.min(2 * delay, LAST_DELAY)) {
    try {
      const interrupted = await engine.recover()
      if (interrupted > 0) log.warn({ interrupted }, 'runs that a restart interrupted have ended')
      return
    } catch (err) {
      if (!isReported(err)) log.error({ err: toLoggable(err) }, 'interrupted runs could not be recovered yet')
      await pause(delay, undefined, { ref: false })
    }
  }
}

// Milliseconds between two looks, and how much longer than a look the pause after it is at least.
const POLL_INTERVAL = 2_000
const REST = 10

/** Takes over the runs that other nodes leave: when the store reports some, and every two seconds. */
export class TakeOver {
  readonly #host: EngineHost
  readonly #lease: NodeLease
  #unsubscribe: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isReported = false

  constructor(host: EngineHost, lease: NodeLease) {
    this.#host = host
    this.#lease = lease
    host.closing.addEventListener('abort', () => this.#stop(), { once: true })
  }

  /** Begins to look; a second call does nothing. */
  begin(): void {
    if (this.#unsubscribe !== undefined || this.#host.closing.aborted) return
    this.#unsubscribe = this.#lease.onLeft(() => {
      this.#isReported = true
      this.#lookAfter(0)
    })
    this.#lookAfter(POLL_INTERVAL)
  }

  /** Resolves when no look is in progress. */
  async idle(): Promise<void> {
    await this.#looking
  }

  #stop(): void {
    this.#unsubscribe?.()
    clearTimeout(this.#timer)
  }

  #lookAfter(delay: number): void {
    if (this.#looking !== undefined || this.#host.closing.aborted) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#look(), delay).unref()
  }

  async #look(): Promise<void> {
    const begun = performance.now()
    this.#isReported = false
    this.#looking = this.#lease.held ? this.#takeOver() : undefined
    await this.#looking
    this.#looking = undefined
    const rest = (performance.now() - begun) * REST
    this.#lookAfter(this.#isReported ? 0 : Math.max(POLL_INTERVAL, rest))
  }

  async #takeOver(): Promise<void> {
    const { log } = this.#host
    try {
      const { ended, loads } = await this.#host.interrupted.recover()
      if (ended > 0) log.warn({ ended }, 'runs that another node left have ended')
      void Promise.all(loads).then((all) => {
        const resumed = all.filter(Boolean).length
        if (resumed > 0) log.info({ resumed }, 'runs that another node left are resumed')
      })
    } catch (err) {
      if (!isReported(err))
        log.error({ err: toLoggable(err) }, 'runs that other nodes left could not be recovered')
    }
  }
}
