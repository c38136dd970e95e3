import { RUN_ERR_INTERRUPTED } from '../errors.ts'
import type { StoredError } from '../stores/run-store.ts'
import type { Stores } from '../stores/stores.ts'
import { encodePart } from './encode-part.ts'
import { toPartError, toStoredError } from './run-error.ts'

/** Ends as failed every run that the store has as under way and that is not: its process died. Gives how many. */
export async function endInterrupted(stores: Stores, isLive: (runId: string) => boolean): Promise<number> {
  const error = toStoredError(new RUN_ERR_INTERRUPTED())
  let ended = 0
  for (const { runId } of await stores.runs.listUnfinished()) {
    if (isLive(runId)) continue
    const epoch = await stores.runs.lease(runId)
    if (epoch === undefined) continue
    await endAsFailed(stores, runId, epoch, error)
    ended++
  }
  return ended
}

/** Ends a run that nobody writes any more. @throws RUN_ERR_FENCED when another has taken or ended it */
export async function endAsFailed(
  stores: Stores,
  runId: string,
  epoch: number,
  error: StoredError
): Promise<void> {
  const entry = encodePart((await lastSeq(stores, runId)) + 1, { type: 'error', error: toPartError(error) })
  await stores.log.append(runId, epoch, [entry], { status: 'failed', at: Date.now(), error })
}

async function lastSeq({ log }: Stores, runId: string): Promise<number> {
  let last = 0
  for (;;) {
    const entries = await log.read(runId, last, { entries: 4096, bytes: 1_048_576 })
    if (entries.length === 0) return last
    last = entries.at(-1)!.seq
  }
}
