import { A2A_ERR_REMOTE } from '../../errors.ts'

/** Refusals that pass. RFC 9110, sections 15.5.9 and 15.6; RFC 6585, section 4; RFC 8470, section 5.2. */
const PASSING = new Set([408, 425, 429])

/** What a service, or its card, answers with a status. Where it was asked is for the log. */
export function statusFault(what: string, status: number, url: string): Error {
  const text =
    status >= 300 && status < 400
      ? `${what} redirects (status ${status}), which is not followed`
      : `${what} answers with status ${status}`
  return toFault(text, PASSING.has(status) || status >= 500, askedAt(status, url))
}

/** There is no card, here or anywhere else where it may be. */
export function noCard(url: string): Error {
  return toFault('it has no agent card', false, askedAt(404, url))
}

/** What a service answers as an error of JSON-RPC: those of the protocol would come again, but for the internal one. */
export function rpcFault(text: string, code: unknown): Error {
  const isOfProtocol = typeof code === 'number' && code >= -32_700 && code < -32_000
  return toFault(text, !isOfProtocol || code === -32_603)
}

function toFault(text: string, retryable: boolean, cause?: Error): Error {
  return Object.assign(new A2A_ERR_REMOTE(text, { cause }), { retryable })
}

function askedAt(status: number, url: string): Error {
  // What else is in it may be secret.
  const { origin, pathname } = new URL(url)
  return new Error(`${status} of ${origin}${pathname}`)
}
