import { RUN_ERR_DRAINING, RUN_ERR_TOO_MANY_RUNS } from '../errors.ts'
import { PassingMap } from '../stores/passing-map.ts'
import { Drain } from './drain.ts'
import type { LiveRun } from './live-run.ts'
import type { CountedRun } from './run-host.ts'
import { RefusalRates } from './refusal-rates.ts'
import type { StartRefusal } from './run-engine.ts'
import type { RunLimits } from './run-limits.ts'

/** The runs in progress in this process, counted against the engine's limits. */
export class LiveRuns {
  readonly limits: RunLimits
  readonly refusals = new RefusalRates()
  readonly #runs = new PassingMap<string, LiveRun>()
  #drain: Drain | undefined

  constructor(limits: RunLimits) {
    this.limits = limits
  }

  get size(): number {
    return this.#runs.size
  }

  get draining(): boolean {
    return this.#drain !== undefined
  }

  has(runId: string): boolean {
    return this.#runs.has(runId)
  }

  get(runId: string): LiveRun | undefined {
    return this.#runs.get(runId)
  }

  list(): LiveRun[] {
    return this.#runs.values()
  }

  /** Checks that the owner may start one more run. @throws RUN_ERR_DRAINING, RUN_ERR_OVERLOADED, RUN_ERR_TOO_MANY_RUNS, RUN_ERR_WAITING_LIMIT */
  requireVacancy(owner: string): void {
    if (this.draining) throw new RUN_ERR_DRAINING()
    try {
      this.limits.require(owner)
    } catch (err) {
      this.refusals.add(owner)
      throw err
    }
  }

  /** As `RunEngine.refusal`. */
  refusal(owner: string, isOften = false): StartRefusal | undefined {
    const often = this.refusals.isOften(owner)
    if (isOften && !often) return undefined
    try {
      this.requireVacancy(owner)
    } catch (err) {
      return { error: err as Error, often }
    }
    // Those of an owner whose runs other processes have are refused by the store.
    return often ? { error: new RUN_ERR_TOO_MANY_RUNS(), often } : undefined
  }

  enter(run: LiveRun): void {
    this.#runs.add(run.runId, run)
    this.limits.enter(run.record.owner)
  }

  /** A run begins to wait, and counts for its owner only, with what it holds. */
  waits({ record, heldBytes }: CountedRun): void {
    this.limits.waits(record.owner, heldBytes)
  }

  /** A run has waited. */
  works({ record, heldBytes }: CountedRun): void {
    this.limits.works(record.owner, heldBytes)
  }

  /** A run that was started before a drain, and begins during it, begins no steps. */
  begun(run: LiveRun): void {
    this.#drain?.stop(run)
  }

  leave({ runId, record }: Pick<LiveRun, 'runId' | 'record'>): void {
    this.#runs.delete(runId)
    this.limits.leave(record.owner)
    this.#drain?.leave(runId)
  }

  /**
   * Admits no more runs and waits for those in progress, for `timeout` milliseconds at most. Call it once.
   * @param handOver leaves a run to another node, if there may be one
   */
  drain(timeout: number, handOver?: (run: LiveRun) => void): Promise<void> {
    this.limits.close()
    this.#drain = new Drain(handOver)
    return this.#drain.wait(this.list(), timeout)
  }
}
