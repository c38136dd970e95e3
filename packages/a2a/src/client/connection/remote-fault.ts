import { A2A_ERR_REMOTE } from '../../errors.ts'

/** Temporary refusals: RFC 9110, sections 15.5.9 and 15.6; RFC 6585, section 4; RFC 8470, section 5.2. */
const TEMPORARY = new Set([408, 425, 429])

/** The error of a bad status; `what` is the service or its card. The URL goes to the log only. */
export function statusFault(what: string, status: number, url: string): Error {
  const text =
    status >= 300 && status < 400
      ? `${what} redirects (status ${status}), which is not followed`
      : `${what} answers with status ${status}`
  return toFault(text, TEMPORARY.has(status) || status >= 500, askedAt(status, url))
}

/** The error of a service without a card. */
export function noCard(url: string): Error {
  return toFault('it has no agent card', false, askedAt(404, url))
}

/** The error of a JSON-RPC error. Those of the protocol are permanent, except for the internal error. */
export function rpcFault(text: string, code: unknown): Error {
  const isOfProtocol = typeof code === 'number' && code >= -32_700 && code < -32_000
  return toFault(text, !isOfProtocol || code === -32_603)
}

function toFault(text: string, retryable: boolean, cause?: Error): Error {
  return Object.assign(new A2A_ERR_REMOTE(text, { cause }), { retryable })
}

function askedAt(status: number, url: string): Error {
  // The rest of the URL may be secret.
  const { origin, pathname } = new URL(url)
  return new Error(`${status} of ${origin}${pathname}`)
}
