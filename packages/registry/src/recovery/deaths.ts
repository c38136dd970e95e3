import type { Awaitable, StoredRun, Stores } from '@svc/contract'

/** A run whose process has died so often without recording a step or an answer is not resumed again. */
export const MAX_DEATHS = 5

type LeasedRun = Pick<StoredRun, 'runId' | 'epoch'>

// No step of a runnable has such a key: theirs are JSON.
const progressIn = (epoch: number) => `#lease/${epoch}`
const waitIn = (epoch: number) => `#waits/${epoch}`
const workIn = (epoch: number) => `#works/${epoch}`

/**
 * How many of the last leases of a run, 5 at most, ended with the death of its process, and without progress. A lease in which the run only
 * waited has no part in a death, and ends the count.
 * @param before the epoch of the first lease that does not count
 */
export async function deathsOf({ runs }: Stores, runId: string, before: number): Promise<number> {
  const has = async (key: string) => (await runs.readStep(runId, key)) !== undefined
  for (let deaths = 0; deaths < MAX_DEATHS; deaths++) {
    const epoch = before - 1 - deaths
    if (epoch < 1 || (await has(progressIn(epoch)))) return deaths
    if ((await has(waitIn(epoch))) && !(await has(workIn(epoch)))) return deaths
  }
  return MAX_DEATHS
}

/** Records that a run has made progress under its lease, or that the lease is given up in order. Further calls do nothing. */
export function recordProgress({ runs }: Stores, { runId, epoch }: LeasedRun): Awaitable<void> {
  return runs.recordStep(runId, epoch, progressIn(epoch), true)
}

/** Records that a run begins its lease as one that only waits, for an input or for its turn. */
export function recordWait({ runs }: Stores, { runId, epoch }: LeasedRun): Awaitable<void> {
  return runs.recordStep(runId, epoch, waitIn(epoch), true)
}

/** Records that such a run begins to work. */
export function recordWork({ runs }: Stores, { runId, epoch }: LeasedRun): Awaitable<void> {
  return runs.recordStep(runId, epoch, workIn(epoch), true)
}
