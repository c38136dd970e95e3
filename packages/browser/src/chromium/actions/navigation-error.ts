import { RUN_ERR_BROWSER_ACTION_FAILED } from '../../errors.ts'
import type { HostPolicy } from '../../browser.ts'
import { requireHost } from './check-url.ts'

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^ERR_(?:TUNNEL_CONNECTION_FAILED|PROXY_|SOCKS_)/, 'cannot be reached, or its address is not allowed'],
  [/^ERR_NAME_/, 'has no address: there is no such host'],
  [/^ERR_(?:CERT|SSL|BAD_SSL)_/, 'has no valid certificate, so the connection would not be safe'],
  [/^ERR_TOO_MANY_REDIRECTS/, 'redirects without end'],
  [/^ERR_(?:CONNECTION_TIMED_OUT|TIMED_OUT)/, 'did not answer in time'],
  [/^ERR_(?:CONNECTION|SOCKET|EMPTY_RESPONSE|ADDRESS|NETWORK)/, 'refused or broke the connection'],
  [/^ERR_(?:INVALID_|INCOMPLETE|CONTENT_|HTTP|RESPONSE)/, 'gave an answer that is no page'],
  [/^ERR_(?:BLOCKED|UNSAFE|ACCESS|DISALLOWED|UNKNOWN_URL_SCHEME)/, 'was blocked by the browser']
]

/** Why a page did not open. `code` is Chromium's, e.g. `ERR_CONNECTION_REFUSED`; `url` is the one that failed, after redirects. */
export function navigationError(url: string, code: string, hosts: HostPolicy): Error {
  const failed = URL.parse(url)
  try {
    if (failed !== null) requireHost(failed, hosts)
  } catch (err) {
    return err as Error
  }
  const reason = REASONS.find(([pattern]) => pattern.test(code))?.[1] ?? 'did not open'
  return new RUN_ERR_BROWSER_ACTION_FAILED(`${failed?.host ?? 'the page'} ${reason} (${code})`)
}

/** The code of Chromium in a text; undefined if there is none. */
export function netErrorCode(text: string): string | undefined {
  return /net::(ERR_[A-Z0-9_]+)/.exec(text)?.[1]
}
