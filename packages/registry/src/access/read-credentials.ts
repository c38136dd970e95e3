import type { IncomingHttpHeaders } from 'node:http'
import type { Credentials } from '../contract/principal.ts'
import { parseCookie } from 'cookie'

/** Where the token is. */
export interface TokenPlace {
  /** Default `header`: `Authorization: Bearer …`. */
  extractFrom?: 'header' | 'cookie'
  /** Default `token`. */
  cookieName?: string
}

const BEARER = /^bearer(?:[ \t]+(.*))?$/i
const NO_COOKIES: Credentials['cookies'] = Object.freeze({})

/**
 * Reads the credentials of a request or a handshake. No `Authorization`, or another scheme's, is no token; what
 * follows `Bearer`, even nothing or two words, is one, to be found bad. RFC 6750, section 2.1.
 */
export function readCredentials(
  headers: IncomingHttpHeaders,
  { extractFrom = 'header', cookieName = 'token' }: TokenPlace = {}
): Credentials {
  const cookies =
    headers.cookie === undefined ? NO_COOKIES : (parseCookie(headers.cookie) as Credentials['cookies'])
  const token = extractFrom === 'header' ? readBearer(headers.authorization) : readCookie(cookies, cookieName)
  return token === undefined ? { headers, cookies } : { token, headers, cookies }
}

function readBearer(authorization: string | undefined): string | undefined {
  const match = BEARER.exec(authorization ?? '')
  return match === null ? undefined : (match[1] ?? '')
}

function readCookie(cookies: Credentials['cookies'], name: string): string | undefined {
  return Object.hasOwn(cookies, name) ? cookies[name] : undefined
}

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
