import type { LiveRun } from './live-run.ts'

/** Waits for the runs under way when a service shuts down. */
export class Drain {
  readonly #waitingFor = new Set<string>()
  readonly #over = Promise.withResolvers<void>()

  /** Resolves when no run has to be waited for any longer; after `timeout` milliseconds in any case. */
  async wait(runs: readonly LiveRun[], timeout: number): Promise<void> {
    for (const run of runs) this.#waitingFor.add(run.runId)
    for (const run of runs) this.stop(run)
    if (this.#waitingFor.size === 0) return
    const timer = setTimeout(this.#over.resolve, timeout)
    await this.#over.promise
    clearTimeout(timer)
  }

  /** A run that can go on in another process need not end: it is left when its steps under way are recorded. */
  stop(run: LiveRun): void {
    if (run.resumable) run.stopSteps(() => this.leave(run))
  }

  /** A run has ended, or may be left as it is. */
  leave({ runId }: Pick<LiveRun, 'runId'>): void {
    if (this.#waitingFor.delete(runId) && this.#waitingFor.size === 0) this.#over.resolve()
  }
}
