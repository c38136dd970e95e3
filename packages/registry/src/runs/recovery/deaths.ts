import type { Awaitable } from '../../contract/ports/awaitable.ts'
import type { StoredRun } from '../../contract/ports/run-store.ts'
import type { Stores } from '../../contract/ports/stores.ts'

/** A run whose process has died so often without recording a step or an answer is not resumed again. */
const MAX_DEATHS = 5

type LeasedRun = Pick<StoredRun, 'runId' | 'epoch'>

/** No step of a runnable has such a key: theirs are JSON. */
const keyOf = (epoch: number) => `#lease/${epoch}`

/** True if each of the last 5 leases of a run ended with the death of its process, and without progress. */
export async function isPoisoned({ runs }: Stores, { runId, epoch }: LeasedRun): Promise<boolean> {
  for (let earlier = epoch - 1; earlier >= epoch - MAX_DEATHS; earlier--)
    if (earlier < 1 || (await runs.readStep(runId, keyOf(earlier))) !== undefined) return false
  return true
}

/** Records that a run has made progress under its lease, or that the lease is given up in order. Further calls do nothing. */
export function recordProgress({ runs }: Stores, { runId, epoch }: LeasedRun): Awaitable<void> {
  return runs.recordStep(runId, epoch, keyOf(epoch), true)
}
