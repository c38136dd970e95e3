import type { RunLog } from '../contract/run-log.ts'
import type { StoredError } from '../contract/ports/run-store.ts'
import { toLoggable } from '../logging/to-loggable.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'

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
  if (isReported(err)) logRun(run, 'info', 'run failed', { code })
  else if (statusCode >= 500) logRun(run, 'error', 'run failed', { err: toLoggable(err), code })
  else logRun(run, 'info', 'run failed', { code })
}

/** Logs that the log of a run ends in the middle; a fault of the store is logged by its watch. */
export function logLost(run: Logged, err: unknown): void {
  const message = 'the log of the run cannot be written'
  if (isReported(err)) logRun(run, 'info', message, {})
  else logRun(run, 'error', message, { err: toLoggable(err) })
}

/** Logs what a runnable throws when its run is over. */
export function logLate(run: Logged, err: unknown): void {
  logRun(run, 'debug', 'runnable failed after the end of its run', { err: toLoggable(err) })
}
