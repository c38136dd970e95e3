import { isPromise, isTerminalStatus, type LogEntry, type PartType, type RunSummary } from '@svc/contract'
import { LogReader, typeOfEntry, type RunEngine } from '@svc/surface'

/** Resolves when a run has ended or waits for its client, always with undefined. @throws RUN_ERR_STORE */
export async function waitUntilSettled(runs: RunEngine, runId: string): Promise<undefined> {
  const reader = new LogReader(runs, runId)
  try {
    for (;;) {
      const reading = reader.read()
      const entries = isPromise(reading) ? await reading : reading
      if (reader.fault !== undefined) throw reader.fault
      if (reader.ended || (entries.some(isRequest) && isSettled(await runs.find(runId)))) return
      if (entries.length === 0) await new Promise<void>((resolve) => reader.onNews(resolve))
    }
  } finally {
    reader.close()
  }
}

const REQUESTS: ReadonlySet<string | undefined> = new Set<PartType>([
  'tool.approval.request',
  'input.request'
])

function isRequest(entry: LogEntry): boolean {
  return REQUESTS.has(typeOfEntry(entry))
}

function isSettled(run: RunSummary | undefined): boolean {
  if (run === undefined || isTerminalStatus(run.status)) return true
  const { approvals, inputs } = run.waiting
  return approvals.count + inputs.count > 0
}
