import { toLoggable, type NodeLease, type RunLog } from '@svc/contract'
import { isReported } from '../stores/upkeep/store-watch.ts'
import type { Found } from './interrupted-runs.ts'

// Milliseconds between two looks, and how much longer than a look the pause after it is at least.
const LOOK_EVERY = 2_000
const REST = 10

/** The parts of the engine that taking over runs needs. */
export interface TakeOverHost {
  readonly log: RunLog
  /** Aborts when the engine begins to close. */
  readonly closing: AbortSignal
  /** Recovers the runs that no living process has. */
  recover(): Promise<Found>
}

/** Takes over the runs that other nodes leave: when the store reports some, and every two seconds. */
export class TakeOver {
  readonly #host: TakeOverHost
  readonly #lease: NodeLease
  #unsubscribe: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined
  #isReported = false

  constructor(host: TakeOverHost, lease: NodeLease) {
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
    this.#lookAfter(LOOK_EVERY)
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
    this.#lookAfter(this.#isReported ? 0 : Math.max(LOOK_EVERY, rest))
  }

  async #takeOver(): Promise<void> {
    const { log } = this.#host
    try {
      const { ended, loads } = await this.#host.recover()
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
