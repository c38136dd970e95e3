import { setImmediate } from 'node:timers/promises'
import type { NumberedPart } from '../contract/part.ts'
import { RUN_ERR_INTERRUPTED } from '../errors.ts'
import type { StoredError, UnfinishedRun } from '../stores/run-store.ts'
import type { Stores } from '../stores/stores.ts'
import { toPartError, toStoredError } from './run-error.ts'
import { RunProgress } from './run-progress.ts'

// Records that are read at once.
const PAGE = 100

/**
 * Every run that the store has as under way, read in pages of small records; others have their turn between two of them.
 */
export async function* unfinishedRuns({ runs }: Stores): AsyncGenerator<UnfinishedRun, void> {
  let cursor: string | null | undefined
  do {
    const page = await runs.listUnfinished({ limit: PAGE, ...(cursor && { cursor }) })
    for (const run of page.runs) {
      await setImmediate()
      yield run
    }
    cursor = page.nextCursor
  } while (cursor !== null)
}

/** Ends a run that no process executes; false when it has ended. */
export async function endLeftRun(
  stores: Stores,
  runId: string,
  status: 'failed' | 'canceled'
): Promise<boolean> {
  const epoch = await stores.runs.lease(runId)
  if (epoch === undefined) return false
  if (status === 'failed') {
    await endAsFailed(stores, runId, epoch, toStoredError(new RUN_ERR_INTERRUPTED()))
  } else {
    const { progress } = await recallProgress(stores, runId, Infinity)
    const { entry, result } = progress.finish({ type: 'finish', finishReason: 'canceled' })
    await stores.log.append(runId, epoch, [entry], { status, at: Date.now(), result })
  }
  await stores.checkpoints.remove(runId)
  return true
}

/** Ends a run that nobody writes any more. @throws RUN_ERR_FENCED when another has taken or ended it */
export async function endAsFailed(
  stores: Stores,
  runId: string,
  epoch: number,
  error: StoredError
): Promise<void> {
  const { progress } = await recallProgress(stores, runId, Infinity)
  const entry = progress.fail(toPartError(error))
  await stores.log.append(runId, epoch, [entry], { status: 'failed', at: Date.now(), error })
}

/** How far a run has come, from its log, and which of its approvals the log has answers of. */
export async function recallProgress(
  { log }: Stores,
  runId: string,
  maxBytes: number,
  elapsed?: number
): Promise<{ progress: RunProgress; answered: Set<string> }> {
  const progress = new RunProgress(maxBytes, elapsed)
  const answered = new Set<string>()
  for (;;) {
    const entries = await log.read(runId, progress.seq, { entries: 4096, bytes: 1_048_576 })
    if (entries.length === 0) return { progress, answered }
    for (const entry of entries) {
      progress.recall(entry)
      const part: NumberedPart = entry.part
      if (part.type === 'tool.approval.response') answered.add(part.approvalId)
    }
  }
}
