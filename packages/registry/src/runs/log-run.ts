import type { RunLog } from '../contract/run-context.ts'
import type { StoredError } from '../stores/run-store.ts'
import { toLoggable } from '../logging/to-loggable.ts'

/** Whose log it is. */
interface Logged {
  readonly runId: string
  readonly log: RunLog
}

/** Logs something of a run. A log that throws keeps no run from its end. */
export function logRun(
  run: Logged,
  level: 'debug' | 'info' | 'error',
  message: string,
  details: object
): void {
  try {
    run.log[level]({ ...details, runId: run.runId }, message)
  } catch {}
}

/** Logs why a run failed: in full where the fault is ours. */
export function logFault(run: Logged, err: unknown, { code, statusCode }: StoredError): void {
  if (statusCode >= 500) logRun(run, 'error', 'run failed', { err: toLoggable(err), code })
  else logRun(run, 'info', 'run failed', { code })
}
