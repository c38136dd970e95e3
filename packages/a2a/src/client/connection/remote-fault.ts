import { codeOf } from '@svc/contract'
import { A2A_ERR_BAD_ANSWER, A2A_ERR_REMOTE } from '../../errors.ts'

/** Temporary refusals: RFC 9110, sections 15.5.9 and 15.6; RFC 6585, section 4; RFC 8470, section 5.2. */
const TEMPORARY = new Set([408, 425, 429])
const NOT_IMPLEMENTED = 501

/** The error of a bad status; `what` is the service or its card. The URL goes to the log only. */
export function statusFault(what: string, status: number, url: string): Error {
  const text =
    status >= 300 && status < 400
      ? `${what} redirects (status ${status}), which is not followed`
      : `${what} answers with status ${status}`
  const retryable = TEMPORARY.has(status) || (status >= 500 && status !== NOT_IMPLEMENTED)
  return Object.assign(toFault(text, retryable, askedAt(status, url)), { status })
}

/** True for the error of a path or a method that the service does not have. */
export function isUnknownRoute(err: unknown): boolean {
  const { status } = err as { status?: unknown }
  return codeOf(err) === 'A2A_ERR_REMOTE' && (status === 404 || status === 405)
}

/** Codes of errors of the protocol that services report with a status only. */
const BY_STATUS: Readonly<Record<number, number>> = { 404: -32_001, [NOT_IMPLEMENTED]: -32_004 }

/** The code of JSON-RPC with which the service refused, on any binding; undefined for other errors. */
export function codeOfRefusal(err: unknown): number | undefined {
  if (codeOf(err) !== 'A2A_ERR_REMOTE') return undefined
  const { refusedWith, status } = err as { refusedWith?: unknown; status?: number }
  return isProtocolCode(refusedWith) ? refusedWith : BY_STATUS[status ?? 0]
}

/** The error of a service without a card. */
export function noCard(url: string): Error {
  return toFault('it has no agent card', false, askedAt(404, url))
}

/**
 * The error of a refusal, with its code of JSON-RPC, on any binding. Codes of the protocol are permanent, except for the internal
 * error. `text` is shortened; redact it before.
 */
export function protocolFault(text: string, code: unknown): Error {
  const retryable = !isProtocolCode(code) || code === -32_603
  return Object.assign(toFault(text.slice(0, 500), retryable), { refusedWith: code })
}

/** True for codes that JSON-RPC or the protocol define, besides those of servers themselves. */
export function isProtocolCode(code: unknown): code is number {
  return typeof code === 'number' && code >= -32_700 && code < -32_000
}

/** The error of a card that cannot be used. */
export function badCard(why: string): Error {
  return Object.assign(new A2A_ERR_BAD_ANSWER(`its card ${why}`), { retryable: false })
}

/** The error of a task or a service that does not do what was asked for. */
export function refusal(why: string): Error {
  return toFault(why, false)
}

function toFault(text: string, retryable: boolean, cause?: Error): Error {
  return Object.assign(new A2A_ERR_REMOTE(text, { cause }), { retryable })
}

function askedAt(status: number, url: string): Error {
  // The rest of the URL may be secret.
  const { origin, pathname } = new URL(url)
  return new Error(`${status} of ${origin}${pathname}`)
}
