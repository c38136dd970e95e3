import type { RunLog } from '../contract/run-context.ts'
import type { StoredError } from '../stores/run-store.ts'
import { toLoggable } from './to-loggable.ts'

/** Whose log it is. */
interface Told {
  readonly runId: string
  readonly log: RunLog
}

/** Logs something of a run. A log that throws keeps no run from its end. */
export function tellRun(
  run: Told,
  level: 'debug' | 'info' | 'error',
  message: string,
  details: object
): void {
  try {
    run.log[level]({ ...details, runId: run.runId }, message)
  } catch {}
}

/** Logs why a run failed: in full where the fault is ours. */
export function tellFault(run: Told, err: unknown, { code, statusCode }: StoredError): void {
  if (statusCode >= 500) tellRun(run, 'error', 'run failed', { err: toLoggable(err), code })
  else tellRun(run, 'info', 'run failed', { code })
}
