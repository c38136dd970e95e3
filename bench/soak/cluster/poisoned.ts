import type { Leased, RecordedStep, StoredPart } from './audit.ts'

// Deaths of its process without progress after which a run is not resumed.
const MAX_DEATHS = 5
// What a run records when it begins to wait, and to work again, is no progress.
const NO_PROGRESS = /^#(waits|works)\//

/** Finds the runs that ended as poisoned because their process had died so often. */
export function findPoisoned(
  stored: readonly StoredPart[],
  leases: readonly Leased[],
  steps: readonly RecordedStep[]
): string[] {
  const ends = stored.filter(({ json }) => json.includes('"RUN_ERR_POISONED"'))
  return ends.flatMap(({ runId }) => {
    const own = leases.filter((lease) => lease.runId === runId)
    const first = own.at(-MAX_DEATHS - 1)
    const isProgress = (step: RecordedStep) =>
      step.runId === runId && step.at >= first!.at && !NO_PROGRESS.test(step.key)
    return first === undefined || steps.some(isProgress) ? [] : [runId]
  })
}
