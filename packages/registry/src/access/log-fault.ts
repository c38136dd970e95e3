import type { RunLog } from '../contract/run-log.ts'
import { toLoggable } from '../logging/to-loggable.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'

/** What was thrown, as an entrance tells it; further fields go into the log as they are. */
export interface LoggedFault {
  readonly code: string
  readonly statusCode: number
  readonly [field: string]: unknown
}

// Under load each request has one of these: the service does what it should.
const TAKES_NO_MORE = new Set(['RUN_ERR_OVERLOADED', 'RUN_ERR_DRAINING'])

/**
 * Logs what an entrance refused or failed to do: a failure (500 and over) at `error` with what was thrown; at `warn` and
 * without it, that no more runs are taken, or that a store fails, whose fault is in the log already; at `info` every other
 * refusal.
 * @param what 'request', 'event' or the like
 */
export function logFault(log: RunLog, what: string, fault: LoggedFault, err: unknown): void {
  if (TAKES_NO_MORE.has(fault.code) || isReported(err)) log.warn(fault, `${what} refused`)
  else if (fault.statusCode >= 500) log.error({ ...fault, err: toLoggable(err) }, `${what} failed`)
  else log.info(fault, `${what} refused`)
}
