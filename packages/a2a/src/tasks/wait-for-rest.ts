import {
  isTerminalStatus,
  readEntries,
  toPendingApprovals,
  type RunEngine,
  type StoredRun
} from '@svc/registry'

/** Whether a run goes on without its client. */
function isAtRest(run: StoredRun): boolean {
  return isTerminalStatus(run.status) || toPendingApprovals(run).length > 0
}

// The engine writes `type` second: nothing has to be parsed.
const ASKS = /^\{"seq":\d+,"type":"tool\.approval\.request"/

/** Resolves when a run has ended or waits for its client. */
export async function waitForRest(runs: RunEngine, runId: string): Promise<void> {
  for await (const entry of readEntries(runs, runId)) {
    if (!ASKS.test(entry.json)) continue
    const run = await runs.get(runId)
    if (run === undefined || isAtRest(run)) return
  }
}
