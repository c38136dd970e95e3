import { setImmediate } from 'node:timers/promises'
import type { NumberedPart } from '../../contract/part.ts'
import { codeOf } from '../../contract/create-error.ts'
import { RUN_ERR_INTERRUPTED } from '../../errors.ts'
import type { UnfinishedRun } from '../../contract/ports/run-store.ts'
import type { Stores } from '../../contract/ports/stores.ts'
import type { LogEntry } from '../../contract/ports/stream-log.ts'
import { encodePart } from '../log/encode-part.ts'
import { toPartError, toStoredError } from '../run-error.ts'
import { RunProgress } from '../run-progress.ts'

// Records that are read at once.
const RECORDS = 100
// Many small parts, or a large one, at a time.
const PAGE = { entries: 4_096, bytes: 1_048_576 }

/**
 * Every run that the store has as under way, read in pages of small records; others have their turn between two of them.
 */
export async function* unfinishedRuns({ runs }: Stores): AsyncGenerator<UnfinishedRun, void> {
  let cursor: string | null | undefined
  do {
    const page = await runs.listUnfinished({ limit: RECORDS, ...(cursor && { cursor }) })
    for (const run of page.runs) {
      await setImmediate()
      yield run
    }
    cursor = page.nextCursor
  } while (cursor !== null)
}

/** Ends a run that no process executes, as canceled or with an error; false when it has ended. */
export async function endLeftRun(
  stores: Stores,
  runId: string,
  how: 'canceled' | Error = new RUN_ERR_INTERRUPTED()
): Promise<boolean> {
  const epoch = await stores.runs.lease(runId)
  if (epoch === undefined) return false
  if (how === 'canceled') await endAsCanceled(stores, runId, epoch)
  else await endAsFailed(stores, runId, epoch, how)
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
    const { entry, result, preview } = progress.finish({ type: 'finish', finishReason: 'canceled' })
    await stores.log.append(runId, epoch, [entry], { status: 'canceled', at: Date.now(), result, preview })
  } catch (err) {
    if (!isDamaged(err)) throw err
    await endAsFailed(stores, runId, epoch, err)
  }
}

/** Whether something is wrong with what is stored of one run. */
export function isDamaged(err: unknown): err is Error {
  return codeOf(err) === 'RUN_ERR_DAMAGED'
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
