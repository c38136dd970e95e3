import { setImmediate } from 'node:timers/promises'
import {
  codeOf,
  RUN_ERR_INTERRUPTED,
  toPartError,
  toStoredError,
  type LeftRun,
  type LogEntry,
  type Stores
} from '@svc/contract'
import { encodePart, timeAfter } from '../engine/log/encode-part.ts'
import { timeOfEntry } from '../engine/log/flat-entry.ts'
import { RunProgress } from '../engine/run-progress.ts'
import { isTurnSaved, leaveTurn } from '../turns/leave-turn.ts'
import { RecalledLog } from './recalled-log.ts'

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
  return true
}

/**
 * Ends a leased run as failed, even if its log is damaged.
 * @throws RUN_ERR_FENCED if another process has leased or ended it
 */
export async function endAsFailed(
  { log }: Stores,
  runId: string,
  epoch: number,
  reason: unknown
): Promise<void> {
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
    const finishReason = isDone ? 'stop' : 'canceled'
    const { entry, result, preview, stats } = progress.finish({ type: 'finish', finishReason })
    const status = isDone ? 'completed' : 'canceled'
    await stores.log.append(runId, epoch, [entry], { status, at: Date.now(), result, preview, stats })
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
