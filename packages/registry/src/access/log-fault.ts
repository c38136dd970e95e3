import type { RunLog } from '../contract/run-log.ts'
import { redactSent, type SentSecrets } from './request-secrets.ts'
import { toLoggable } from '../logging/to-loggable.ts'
import { isReported } from '../stores/upkeep/store-watch.ts'

/** A fault as a surface reports it; further fields are logged unchanged. */
export interface LoggedFault {
  readonly code: string
  readonly statusCode: number
  readonly [field: string]: unknown
}

// Expected under load, for every request.
const TAKES_NO_MORE = new Set(['RUN_ERR_OVERLOADED', 'RUN_ERR_DRAINING'])

/**
 * Logs a refusal or failure of a surface: failures (500 and over) at `error` with the error; overload, shutdown and store failures,
 * which are logged elsewhere, at `warn` without it; any other refusal at `info`.
 * @param what 'request', 'event' or the like
 * @param sent what the client sent: the app's own code may have put a secret of it into the error
 */
export function logFault(
  log: RunLog,
  what: string,
  fault: LoggedFault,
  err: unknown,
  sent?: SentSecrets
): void {
  if (TAKES_NO_MORE.has(fault.code) || isReported(err)) log.warn(fault, `${what} refused`)
  else if (fault.statusCode >= 500) {
    const details = { ...fault, err: toLoggable(err) }
    log.error((sent && redactSent(sent))?.(details) ?? details, `${what} failed`)
  } else log.info(fault, `${what} refused`)
}
