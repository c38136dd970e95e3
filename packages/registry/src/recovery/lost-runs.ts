import { codeOf, RUN_ERR_STORE, toLoggable, type Stores } from '@svc/contract'
import type { HostedRun } from '../engine/run-host.ts'
import { logRun } from '../engine/run-logging.ts'
import { endAsFailed, endLeftRun } from './left-runs.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'

// Runs beyond this limit end at the next start of the service.
const MAX_LOST = 10_000

/** A run whose log could not be written: unfinished in the store, and no longer executed by this process. */
interface LostRun {
  readonly epoch: number
  readonly reason: unknown
  /** The run, if it is resumable. */
  readonly run: HostedRun | undefined
  isResuming: boolean
}

/** The parts of the engine that lost runs need. */
export interface LostRunsHost {
  readonly stores: Stores
  /** Resumes a run in this process, unless it has ended. */
  resumeHere(run: HostedRun): Promise<void>
}

/** Runs that a store failure left unfinished; once the store works again they are resumed if possible, else ended. */
export class LostRuns {
  readonly #host: LostRunsHost
  readonly #runs = new Map<string, LostRun>()

  constructor(host: LostRunsHost) {
    this.#host = host
  }

  /** Takes a run whose log cannot be written, unless another process has leased it. */
  add(run: HostedRun, reason: unknown): void {
    const { runId, epoch } = run.record
    if (isFenced(reason) || this.#runs.size >= MAX_LOST) return this.#host.stores.log.abandon(runId)
    this.#runs.set(runId, { epoch, reason, run: run.resumable ? run : undefined, isResuming: false })
    // Readers of a run that will be resumed keep waiting.
    if (!run.mayResume) this.#host.stores.log.abandon(runId)
  }

  /** The error of a run that is only to be ended; undefined for any other run. */
  faultOf(runId: string): Error | undefined {
    return this.isToEnd(runId) ? new RUN_ERR_STORE({ cause: this.#runs.get(runId)?.reason }) : undefined
  }

  /** True if a run is only to be ended. */
  isToEnd(runId: string): boolean {
    const lost = this.#runs.get(runId)
    return lost !== undefined && lost.run?.mayResume !== true
  }

  /** Ends a run that cannot be resumed as failed. @throws what the store throws if it still fails */
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

  /** Ends a run as canceled instead; false if it is not a lost one. @throws what the store throws */
  async cancel(runId: string): Promise<boolean> {
    if (!this.#runs.has(runId)) return false
    const isCanceled = await endLeftRun(this.#host.stores, runId, 'canceled')
    this.#runs.delete(runId)
    return isCanceled
  }

  /** Resumes the runs that can be, and ends the others. @throws what the store throws if it still fails */
  async catchUp(): Promise<void> {
    for (const [runId, lost] of this.#runs) {
      if (lost.run?.mayResume !== true) await this.end(runId)
      else if (!lost.isResuming) void this.#resume(lost, lost.run)
    }
  }

  // Its runnable may take a while to notice the abort.
  async #resume(lost: LostRun, run: HostedRun): Promise<void> {
    lost.isResuming = true
    await run.executed
    try {
      if (this.#runs.get(run.runId) !== lost) return
      await this.#host.resumeHere(run)
      this.#runs.delete(run.runId)
    } catch (err) {
      // The stores fail again; the next recovery retries.
      if (isReported(err)) return
      this.#runs.delete(run.runId)
      logRun(run, 'error', 'a run could not be resumed', { err: toLoggable(err) })
    } finally {
      lost.isResuming = false
    }
  }
}

function isFenced(err: unknown): boolean {
  return codeOf(err) === 'RUN_ERR_FENCED'
}
