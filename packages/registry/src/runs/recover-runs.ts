import type { NumberedPart } from '../contract/part.ts'
import { RUN_ERR_INTERRUPTED } from '../errors.ts'
import type { StoredRun } from '../stores/run-store.ts'
import type { Stores } from '../stores/stores.ts'
import type { LogEntry } from '../stores/stream-log.ts'
import { encodePart } from './encode-part.ts'
import { readResumeState, type ResumeState } from './resume-state.ts'
import { toPartError, toStoredError } from './run-error.ts'
import { RunProgress } from './run-progress.ts'

// Many small parts, or a large one, at a time.
const PAGE = { entries: 4_096, bytes: 1_048_576 }

/** What is done with the runs that a crash left. */
export interface Recovery {
  isLive(runId: string): boolean
  /** Keeps a run that can go on. */
  park(run: StoredRun, state: ResumeState): void
}

/**
 * Looks after every run that the store has as under way and that is not, for its process died: one that can go on is
 * parked, any other ends as failed. Gives how many ended.
 */
export async function recoverRuns(stores: Stores, { isLive, park }: Recovery): Promise<number> {
  let ended = 0
  for (const run of await stores.runs.listUnfinished()) {
    if (isLive(run.runId)) continue
    const state = await readResumeState(stores, run.runId)
    if (state !== undefined) park(run, state)
    else if (await endLeftRun(stores, run.runId, 'failed')) ended++
  }
  return ended
}

/** Ends a run that no process executes; false when it has ended. */
export async function endLeftRun(
  stores: Stores,
  runId: string,
  status: 'failed' | 'canceled'
): Promise<boolean> {
  const epoch = await stores.runs.lease(runId)
  if (epoch === undefined) return false
  if (status === 'failed') await endAsFailed(stores, runId, epoch, new RUN_ERR_INTERRUPTED())
  else await endAsCanceled(stores, runId, epoch)
  await stores.checkpoints.remove(runId)
  return true
}

/**
 * Ends a run that nobody writes any more, though its log be damaged.
 * @throws RUN_ERR_FENCED when another has taken or ended it
 */
export async function endAsFailed(
  { log }: Stores,
  runId: string,
  epoch: number,
  reason: unknown
): Promise<void> {
  const error = toStoredError(reason)
  let seq = 0
  for (let page: readonly LogEntry[]; (page = await log.read(runId, seq, PAGE)).length > 0;)
    seq = page.at(-1)!.seq
  const entry = encodePart(seq + 1, { type: 'error', error: toPartError(error) })
  await log.append(runId, epoch, [entry], { status: 'failed', at: Date.now(), error })
}

async function endAsCanceled(stores: Stores, runId: string, epoch: number): Promise<void> {
  try {
    const { progress } = await recallProgress(stores, runId, Infinity)
    const { entry, result } = progress.finish({ type: 'finish', finishReason: 'canceled' })
    await stores.log.append(runId, epoch, [entry], { status: 'canceled', at: Date.now(), result })
  } catch (err) {
    if (!isDamaged(err)) throw err
    await endAsFailed(stores, runId, epoch, err)
  }
}

/** Whether something is wrong with what is stored of one run. */
export function isDamaged(err: unknown): boolean {
  return (err as { code?: unknown } | undefined)?.code === 'RUN_ERR_DAMAGED'
}

/**
 * How far a run has come, from its log, and which of its approvals the log has answers of.
 * @throws RUN_ERR_DAMAGED
 */
export async function recallProgress(
  { log }: Stores,
  runId: string,
  maxBytes: number,
  elapsed?: number
): Promise<{ progress: RunProgress; answered: Set<string> }> {
  const progress = new RunProgress(maxBytes, elapsed)
  const answered = new Set<string>()
  for (;;) {
    const entries = await log.read(runId, progress.seq, PAGE)
    if (entries.length === 0) return { progress, answered }
    for (const entry of entries) {
      progress.recall(entry)
      const part: NumberedPart = entry.part
      if (part.type === 'tool.approval.response') answered.add(part.approvalId)
    }
  }
}
