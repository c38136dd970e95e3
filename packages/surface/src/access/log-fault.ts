import { toLoggable, type Redact, type RunLog } from '@svc/contract'
import { createRedact, isReported } from '@svc/registry/engine'

/** What a client has sent, as far as it may have secrets. */
interface SentSecrets {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** A token that was sent elsewhere. */
  readonly token?: unknown
  /** May have an `apiKey`. */
  readonly body?: unknown
}

/** Names of headers that hold secrets, whichever an app or a provider has chosen. */
const SECRET_NAME = /auth|cookie|key|secret|token/
/** What is around the secrets of a header: schemes, and the names of cookies. */
const SEPARATORS = /[\s,;=]+/

/** Creates a `Redact` for what a client has sent as a secret; undefined if that is nothing. */
function redactSent({ headers, token, body }: SentSecrets): Redact | undefined {
  const keys: string[] = []
  for (const [name, value = ''] of Object.entries(headers))
    if (SECRET_NAME.test(name)) for (const text of [value].flat()) keys.push(text, ...text.split(SEPARATORS))
  // Pages send the token of a WebSocket so: `openai-insecure-api-key.…`.
  for (const protocol of String(headers['sec-websocket-protocol'] ?? '').split(SEPARATORS))
    if (protocol.includes('.')) keys.push(protocol.slice(protocol.indexOf('.') + 1))
  const { apiKey } = (typeof body === 'object' && body !== null ? body : {}) as { apiKey?: unknown }
  for (const each of [apiKey, token]) if (typeof each === 'string') keys.push(each)
  // The longest first: a part of a secret is no end of it.
  return createRedact(keys.toSorted((one, other) => other.length - one.length))
}

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
