import { setImmediate } from 'node:timers/promises'
import {
  codeOf,
  toLoggable,
  toPartError,
  toStoredError,
  type LeftRun,
  type LogEntry,
  type Stores
} from '@svc/contract'
import { RUN_ERR_INTERRUPTED, RUN_ERR_STORE } from '@svc/contract/errors'
import { encodePart, timeAfter, timeOfEntry } from '../engine/log/encode-part.ts'
import { RunProgress } from '../engine/log/part-writer.ts'
import { isTurnSaved, leaveTurn } from '../turns/leave-turn.ts'
import { RecalledLog } from './recalled-log.ts'
import type { HostedRun } from '../engine/run-host.ts'
import { logRun } from '../engine/settlement.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'

// Records per page.
const RECORDS = 100
// Per read: many small parts, or one large one.
const PAGE = { entries: 4_096, bytes: 1_048_576 }

/**
 * Yields every unfinished run that no living process has, read in pages of small records, one per turn of the event loop.
 */
export async function* leftRuns({ runs }: Stores): AsyncGenerator<LeftRun, void> {
  let cursor: string | null | undefined
  do {
    const page = await runs.listLeft({ limit: RECORDS, ...(cursor && { cursor }) })
    for (const run of page.runs) {
      await setImmediate()
      yield run
    }
    cursor = page.nextCursor
  } while (cursor !== null)
}

/**
 * Ends a run that no process executes, as canceled or with an error; false if it has already ended.
 * @param leased its epoch if this process has leased it
 */
export async function endLeftRun(
  stores: Stores,
  runId: string,
  how: 'canceled' | Error = new RUN_ERR_INTERRUPTED(),
  leased?: number
): Promise<boolean> {
  const epoch = leased ?? (await stores.runs.lease(runId))
  if (epoch === undefined) return false
  if (how === 'canceled') await endAsCanceled(stores, runId, epoch)
  else await endAsFailed(stores, runId, epoch, how)
  await stores.checkpoints.remove(runId)
  stores.queue?.ended?.(runId)
  return true
}

/**
 * Ends a leased run as failed, even if its log is damaged.
 * @throws RUN_ERR_FENCED if another process has leased or ended it
 */
async function endAsFailed({ log }: Stores, runId: string, epoch: number, reason: unknown): Promise<void> {
  const error = toStoredError(reason)
  let seq = 0
  let at = 0
  for (let page: readonly LogEntry[]; (page = await log.read(runId, seq, PAGE)).length > 0;) {
    seq = page.at(-1)!.seq
    // Not only the last one, which may be damaged.
    for (const entry of page) at = Math.max(at, timeOfEntry(entry))
  }
  const entry = encodePart(seq + 1, timeAfter(at), { type: 'error', error: toPartError(error) })
  await log.append(runId, epoch, [entry], { status: 'failed', at: Date.now(), error })
}

async function endAsCanceled(stores: Stores, runId: string, epoch: number): Promise<void> {
  try {
    const { progress } = await recallProgress(stores, runId, Infinity)
    const isDone = await leaves(stores, runId, epoch)
    const { entry, change } = progress.end({ type: 'finish', finishReason: isDone ? 'stop' : 'canceled' })
    await stores.log.append(runId, epoch, [entry], change)
  } catch (err) {
    if (!isDamaged(err)) throw err
    await endAsFailed(stores, runId, epoch, err)
  }
}

// True if the run that a message cancels had saved its turn before.
async function leaves(stores: Stores, runId: string, epoch: number): Promise<boolean> {
  const run = await stores.runs.find(runId)
  if (!run?.leftTurn) return false
  if (await isTurnSaved(stores, run, run.leftTurn.owner)) return true
  await leaveTurn(stores, { ...run, epoch }, run.leftTurn)
  return false
}

/** True if an error says that another node has leased the run. */
export function isTaken({ lease }: Stores, err: unknown): boolean {
  return lease !== undefined && codeOf(err) === 'RUN_ERR_FENCED'
}

/** True if the stored data of a run is damaged. */
export function isDamaged(err: unknown): err is Error {
  return codeOf(err) === 'RUN_ERR_DAMAGED'
}

/**
 * Restores a run's progress from its log, and what else the log says.
 * @throws RUN_ERR_DAMAGED
 */
export async function recallProgress(
  stores: Stores,
  runId: string,
  maxBytes: number,
  elapsed?: number
): Promise<{ progress: RunProgress; log: RecalledLog }> {
  const progress = new RunProgress(maxBytes, elapsed)
  const log = new RecalledLog()
  for (;;) {
    const entries = await stores.log.read(runId, progress.seq, PAGE)
    if (entries.length === 0) return { progress, log }
    for (const entry of entries) {
      progress.recall(entry)
      log.add(entry.part)
    }
  }
}

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
interface LostRunsHost {
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
    if (isFenced(reason) || this.#runs.size >= MAX_LOST) return this.#abandon(runId)
    this.#runs.set(runId, { epoch, reason, run: run.resumable ? run : undefined, isResuming: false })
    // Readers of a run that will be resumed keep waiting.
    if (!run.mayResume) this.#abandon(runId)
  }

  // It may be called by a timer, which nothing may throw in; the guard of the stores has reported what fails.
  #abandon(runId: string): void {
    try {
      this.#host.stores.log.abandon(runId)
    } catch {}
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

  // Its runnable may take a while to notice the abort, and the store to refuse what was being written: then it has left memory.
  async #resume(lost: LostRun, run: HostedRun): Promise<void> {
    lost.isResuming = true
    await run.executed
    await run.idle()
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
