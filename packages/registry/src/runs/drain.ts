import type { LiveRun } from './live-run.ts'

/** Waits for the runs in progress when a service shuts down. */
export class Drain {
  readonly #waitingFor = new Set<string>()
  readonly #over = Promise.withResolvers<void>()
  readonly #handOver: ((run: LiveRun) => void) | undefined

  /** @param handOver leaves a run to another node, so that it need not wait for the others; undefined if there is none */
  constructor(handOver?: (run: LiveRun) => void) {
    this.#handOver = handOver
  }

  /** Resolves once no run has to be waited for, after `timeout` milliseconds at the latest. */
  async wait(runs: readonly LiveRun[], timeout: number): Promise<void> {
    for (const { runId } of runs) this.#waitingFor.add(runId)
    for (const run of runs) this.stop(run)
    if (this.#waitingFor.size === 0) return
    const timer = setTimeout(this.#over.resolve, timeout)
    await this.#over.promise
    clearTimeout(timer)
  }

  /** A run that another process can resume need not end: it is left once its current steps are recorded. */
  stop(run: LiveRun): void {
    if (run.resumable) run.stopSteps(() => (this.#handOver ? this.#handOver(run) : this.leave(run.runId)))
  }

  /** A run has ended, or may be left as it is. */
  leave(runId: string): void {
    if (this.#waitingFor.delete(runId) && this.#waitingFor.size === 0) this.#over.resolve()
  }
}
