import { toLoggable, type RunLog, type StoredError } from '@svc/contract'
import { isReported } from '../stores/upkeep/store-watch.ts'

/** A run and its log. */
interface Logged {
  readonly runId: string
  readonly log: RunLog
}

/** Logs a line about a run. A log that throws must not stop the run. */
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

/** Logs why a run failed; with the stack if the fault is the service's. */
export function logFault(run: Logged, err: unknown, { code, statusCode }: StoredError): void {
  if (isReported(err)) logRun(run, 'info', 'run failed', { code })
  else if (statusCode >= 500) logRun(run, 'error', 'run failed', { err: toLoggable(err), code })
  else logRun(run, 'info', 'run failed', { code })
}

/** Logs that the log of a run is incomplete; the watch logs the store's failure itself. */
export function logLost(run: Logged, err: unknown): void {
  const message = 'the log of the run cannot be written'
  if (isReported(err)) logRun(run, 'info', message, {})
  else logRun(run, 'error', message, { err: toLoggable(err) })
}

/** Logs what a runnable throws after the end of its run. */
export function logLate(run: Logged, err: unknown): void {
  logRun(run, 'debug', 'runnable failed after the end of its run', { err: toLoggable(err) })
}
