import type { IncomingHttpHeaders } from 'node:http'

/**
 * Whether the page of another site made the browser send this, with the cookies of its user. Schemes are not compared, as
 * a proxy may end TLS.
 * @param host host and port that the client asked for
 */
export function isForeignOrigin(headers: IncomingHttpHeaders, host: string): boolean {
  const { origin } = headers
  return headers['sec-fetch-site'] === 'cross-site' || (origin !== undefined && !isSameHost(origin, host))
}

function isSameHost(origin: string, host: string): boolean {
  const from = URL.parse(origin)
  // Parsed under the same scheme, so that its default port may be written or not.
  const here = from && URL.parse(`${from.protocol}//${host}`)
  return from !== null && here !== null && from.host !== '' && from.host === here.host
}
