import type { IncomingHttpHeaders } from 'node:http'
import type { Credentials } from '@svc/contract'
import { parseCookie } from 'cookie'

/** The location of the token. */
export interface TokenPlace {
  /** Default `header`: `Authorization: Bearer …`. */
  extractFrom?: 'header' | 'cookie'
  /** Default `token`. */
  cookieName?: string
}

const BEARER = /^bearer(?:[ \t]+(.*))?$/i
const NO_COOKIES: Credentials['cookies'] = Object.freeze({})

/**
 * Reads the credentials of a request or a handshake. A missing `Authorization`, or another scheme, means no token; anything after
 * `Bearer`, even nothing or two words, is a token, valid or not. RFC 6750, section 2.1. Beside such a token there are no cookies.
 */
export function readCredentials(
  headers: IncomingHttpHeaders,
  { extractFrom = 'header', cookieName = 'token' }: TokenPlace = {}
): Credentials {
  const bearer = extractFrom === 'header' ? readBearer(headers.authorization) : undefined
  if (bearer !== undefined) return toCredentials(headers, bearer)
  const cookies =
    headers.cookie === undefined ? NO_COOKIES : (parseCookie(headers.cookie) as Credentials['cookies'])
  const token = extractFrom === 'header' ? undefined : readCookie(cookies, cookieName)
  return token === undefined ? { headers, cookies } : { token, headers, cookies }
}

/**
 * The credentials of a token that was not in a cookie. Without the cookies: a browser attaches them by itself, so beside a token that
 * anyone may send they prove nothing.
 */
export function toCredentials(headers: IncomingHttpHeaders, token: string): Credentials {
  if (headers.cookie === undefined) return { token, headers, cookies: NO_COOKIES }
  const { cookie: _, ...others } = headers
  return { token, headers: others, cookies: NO_COOKIES }
}

function readBearer(authorization: string | undefined): string | undefined {
  const match = BEARER.exec(authorization ?? '')
  return match === null ? undefined : (match[1] ?? '')
}

function readCookie(cookies: Credentials['cookies'], name: string): string | undefined {
  return Object.hasOwn(cookies, name) ? cookies[name] : undefined
}

/**
 * True if a page of another site made the browser send this request, with its user's cookies; a token beside them changes nothing.
 * Schemes are not compared, since a proxy may terminate TLS.
 * @param host the host and port that the client requested
 */
export function isForeignOrigin(headers: IncomingHttpHeaders, host: string): boolean {
  const { cookie, origin } = headers
  if (cookie === undefined) return false
  return headers['sec-fetch-site'] === 'cross-site' || (origin !== undefined && !isSameHost(origin, host))
}

function isSameHost(origin: string, host: string): boolean {
  const from = URL.parse(origin)
  // Parsed with the same scheme, so that a default port may be present or not.
  const here = from && URL.parse(`${from.protocol}//${host}`)
  return from !== null && here !== null && from.host !== '' && from.host === here.host
}
