import { resolveAuthorize } from '../access/resolve-authorize.ts'
import type { RunInput } from '../contract/content-part.ts'
import type { Authorize } from '../contract/principal.ts'
import type { RunLog } from '../contract/run-context.ts'
import type { Runnable } from '../contract/runnable.ts'
import { RUN_ERR_NOT_FOUND } from '../errors.ts'
import { isPromise, type Awaitable } from '../stores/awaitable.ts'
import { LiveRun } from './live-run.ts'
import { ParkedRuns, type ParkedRun } from './parked-runs.ts'
import { endLeftRun, recallProgress, recoverRuns } from './recover-runs.ts'
import { toResumeState, toStartOptions } from './resume-state.ts'
import type { RunHost } from './run-host.ts'
import { toLoggable } from '../logging/to-loggable.ts'

/** What is needed of the engine to go on with runs. */
export interface ResumeHost extends RunHost {
  readonly log: RunLog
  readonly draining: boolean
  isLive(runId: string): boolean
  enter(run: LiveRun): void
}

/** What a restart leaves: keeps what runs need to go on, and goes on with them. */
export class InterruptedRuns {
  readonly #host: ResumeHost
  readonly #authorize: Authorize | undefined
  readonly #parked: ParkedRuns
  readonly #forgetting = new Set<Promise<void>>()

  constructor(host: ResumeHost, timeout: number, authorize: Authorize | undefined) {
    this.#host = host
    this.#authorize = authorize && resolveAuthorize(authorize)
    this.#parked = new ParkedRuns(timeout, (runId) => {
      void this.#tellFault(
        endLeftRun(host.stores, runId, 'failed'),
        runId,
        'a run that waited could not be ended'
      )
    })
  }

  /** Keeps what another process needs to go on with a run that begins, if it can. */
  keep(run: LiveRun, input: RunInput): Awaitable<void> {
    if (run.runnable.resumable !== true) return
    const state = toResumeState(input, run.options)
    if (state === undefined) return
    run.resumable = true
    return this.#host.stores.checkpoints.save(run.runId, run.record.epoch, state)
  }

  /** Forgets it, when the run has ended. */
  forget({ runId, resumable, suspended }: LiveRun): void {
    if (!resumable || suspended) return
    const removed = this.#host.stores.checkpoints.remove(runId)
    if (!isPromise(removed)) return
    const told = this.#tellFault(removed, runId, 'what a run was kept for could not be removed')
    this.#forgetting.add(told)
    void told.then(() => this.#forgetting.delete(told))
  }

  recover(): Promise<number> {
    return recoverRuns(this.#host.stores, {
      isLive: (runId) => this.#host.isLive(runId),
      park: (run, state) => this.#parked.park(run, state)
    })
  }

  async resume(runnable: Runnable): Promise<number> {
    let resumed = 0
    if (runnable.resumable !== true) return resumed
    for (const parked of this.#parked.of(runnable.kind, runnable.name)) {
      if (this.#host.draining || !this.#parked.take(parked.run.runId)) continue
      if (await this.#goOn(runnable, parked)) resumed++
    }
    return resumed
  }

  /** Ends one that waits for its runnable; false when it does not. */
  async cancel(runId: string): Promise<boolean> {
    return this.#parked.take(runId) && endLeftRun(this.#host.stores, runId, 'canceled')
  }

  async close(): Promise<void> {
    this.#parked.close()
    await Promise.all(this.#forgetting)
  }

  async #goOn(runnable: Runnable, { run: { runId }, state }: ParkedRun): Promise<boolean> {
    const { stores, maxLogBytes } = this.#host
    const epoch = await stores.runs.lease(runId)
    if (epoch === undefined) return false
    // Not the record that was parked: its approvals may have been answered since.
    const stored = await stores.runs.get(runId)
    if (stored === undefined) throw new RUN_ERR_NOT_FOUND(runId)
    const record = { ...stored, epoch }
    const recalled = await recallProgress(stores, runId, maxLogBytes, Date.now() - record.createdAt)
    const options = toStartOptions(record, state, this.#authorize)
    const run = new LiveRun(this.#host, runnable, options, { record, ...recalled })
    run.resumable = true
    this.#host.enter(run)
    run.begin(state.input)
    // Who answered since the record was read found no run here to tell.
    for (const { approvalId, answer } of (await stores.runs.get(runId))?.approvals ?? [])
      if (answer !== null) await run.approvalAnswered(approvalId, answer)
    return true
  }

  async #tellFault(work: Promise<unknown>, runId: string, message: string): Promise<void> {
    try {
      await work
    } catch (err) {
      this.#host.log.error({ err: toLoggable(err), runId }, message)
    }
  }
}
