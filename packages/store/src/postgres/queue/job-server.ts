import { setTimeout as pause } from 'node:timers/promises'
import { toLoggable, within, type RunLog } from '@svc/contract'
import type { Runner } from 'graphile-worker'
import { isAway } from '../faults.ts'

/** Acts on a job, by its payload. */
export type Act = (payload: unknown) => Promise<void>

/** What serves jobs. */
export interface JobServerHost {
  /** Begins to get jobs, and calls `act` for as many at once as `concurrency`. @throws why it cannot */
  readonly run: (concurrency: number, act: Act) => Promise<Runner>
  readonly concurrency: number
  /** Does not reject. */
  readonly act: Act
  /** Called when a job was gotten for which there was no time. */
  readonly missed: () => Promise<void>
  readonly logger: Pick<RunLog, 'error'>
}

// Milliseconds.
const RESTART_AFTER = 1_000
const SETTLES_WITHIN = 1_000
// After these a runner gets no more jobs, or may get none: graphile-worker 0.18 keeps a failed look-up of its tasks forever.
const FAULTS = [
  'pool:gracefulShutdown',
  'pool:fatalError',
  'worker:fatalError',
  'worker:getJob:error'
] as const

/**
 * Acts on jobs until it is stopped. Runners of graphile-worker end when they cannot complete a job, but only after their other jobs, or
 * never; so the next one begins at once, and acts as soon as fewer jobs than allowed are in progress.
 */
export class JobServer {
  readonly #host: JobServerHost
  readonly #stopping = new AbortController()
  readonly #acts = new Set<Promise<void>>()
  readonly #running: Promise<void>
  #retired: Promise<unknown> | undefined

  constructor(host: JobServerHost) {
    this.#host = host
    this.#running = this.#keepRunning()
  }

  /** Gets no more jobs; resolves when none is in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await Promise.all(this.#acts)
    if (this.#retired !== undefined) await within(SETTLES_WITHIN, this.#retired)
  }

  async #keepRunning(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.#runOnce(signal)
      } catch (err) {
        this.#report(err)
      }
      await pause(RESTART_AFTER, undefined, { ref: false, signal }).catch(() => {})
    }
  }

  // Resolves when the runner is to be replaced.
  async #runOnce(signal: AbortSignal): Promise<void> {
    const runner = await this.#host.run(this.#host.concurrency, (payload) => this.#act(signal, payload))
    const { promise, resolve } = Promise.withResolvers<void>()
    const retire = (event: unknown) => {
      this.#report((event as { error?: unknown }).error)
      resolve()
    }
    for (const fault of FAULTS) runner.events.once(fault, retire)
    signal.addEventListener('abort', retire, { once: true })
    if (signal.aborted) resolve()
    await promise
    signal.removeEventListener('abort', retire)
    this.#retired = Promise.allSettled([runner.stop(), runner.promise])
  }

  async #act(signal: AbortSignal, payload: unknown): Promise<void> {
    while (this.#acts.size >= this.#host.concurrency) await Promise.race(this.#acts)
    if (signal.aborted) return this.#host.missed()
    const act = this.#host.act(payload)
    this.#acts.add(act)
    await act
    this.#acts.delete(act)
  }

  #report(err: unknown): void {
    if (err !== undefined && !isAway(err))
      this.#host.logger.error({ err: toLoggable(err) }, 'the workers of the queue start again')
  }
}
