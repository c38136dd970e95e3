import { codeOf } from '../../contract/create-error.ts'
import { RUN_ERR_STORE } from '../../errors.ts'
import type { Stores } from '../../contract/ports/stores.ts'
import type { HostedRun } from '../run-host.ts'
import { logRun } from '../run-logging.ts'
import { endAsFailed, endLeftRun } from './left-runs.ts'
import { isReported } from '../../stores/upkeep/store-watch.ts'
import { toLoggable } from '../../logging/to-loggable.ts'

// More than so many end at the next start of the service.
const MAX_LOST = 10_000

/** A run whose log could not be written: the store has it as under way, and this process no longer executes it. */
interface LostRun {
  readonly epoch: number
  readonly reason: unknown
  /** The run, where it may be one that can go on. */
  readonly run: HostedRun | undefined
  isResuming: boolean
}

/** What the lost runs need of the engine. */
export interface LostRunsHost {
  readonly stores: Stores
  /** Goes on with a run in this process, unless it has ended. */
  resumeHere(run: HostedRun): Promise<void>
}

/** Runs that a fault of the store left under way in it: when it works again they end, or go on where they can. */
export class LostRuns {
  readonly #host: LostRunsHost
  readonly #runs = new Map<string, LostRun>()

  constructor(host: LostRunsHost) {
    this.#host = host
  }

  /** Takes a run whose log cannot be written, unless it is another's now. */
  add(run: HostedRun, reason: unknown): void {
    const { runId, epoch } = run.record
    if (isFenced(reason) || this.#runs.size >= MAX_LOST) return this.#host.stores.log.abandon(runId)
    this.#runs.set(runId, { epoch, reason, run: run.resumable ? run : undefined, isResuming: false })
    // Who reads a run that goes on waits for it.
    if (!run.mayResume) this.#host.stores.log.abandon(runId)
  }

  /** Why nothing more comes of a run that is only to be ended; undefined for any other. */
  faultOf(runId: string): Error | undefined {
    return this.isToEnd(runId) ? new RUN_ERR_STORE({ cause: this.#runs.get(runId)?.reason }) : undefined
  }

  /** Whether a run is only to be ended. */
  isToEnd(runId: string): boolean {
    const lost = this.#runs.get(runId)
    return lost !== undefined && lost.run?.mayResume !== true
  }

  /** Ends a run as failed that cannot go on. @throws what the store throws, when it still fails */
  async end(runId: string): Promise<void> {
    const lost = this.#runs.get(runId)
    if (lost === undefined) return
    try {
      await endAsFailed(this.#host.stores, runId, lost.epoch, new RUN_ERR_STORE())
    } catch (err) {
      if (!isFenced(err)) throw err
    }
    if (lost.run !== undefined) await this.#host.stores.checkpoints.remove(runId)
    this.#runs.delete(runId)
  }

  /** Ends a run as canceled, whatever was to become of it; false when there is none. @throws what the store throws */
  async cancel(runId: string): Promise<boolean> {
    if (!this.#runs.has(runId)) return false
    const isCanceled = await endLeftRun(this.#host.stores, runId, 'canceled')
    this.#runs.delete(runId)
    return isCanceled
  }

  /** Ends all that cannot go on, and lets the others go on. @throws what the store throws, when it still fails */
  async catchUp(): Promise<void> {
    for (const [runId, lost] of this.#runs) {
      if (lost.run?.mayResume !== true) await this.end(runId)
      else if (!lost.isResuming) void this.#resume(lost, lost.run)
    }
  }

  // What is still executed of it may take its time to notice that it is over.
  async #resume(lost: LostRun, run: HostedRun): Promise<void> {
    lost.isResuming = true
    await run.executed
    try {
      if (this.#runs.get(run.runId) !== lost) return
      await this.#host.resumeHere(run)
      this.#runs.delete(run.runId)
    } catch (err) {
      // The stores fail again: they are looked after.
      if (isReported(err)) return
      this.#runs.delete(run.runId)
      logRun(run, 'error', 'a run could not go on', { err: toLoggable(err) })
    } finally {
      lost.isResuming = false
    }
  }
}

function isFenced(err: unknown): boolean {
  return codeOf(err) === 'RUN_ERR_FENCED'
}
