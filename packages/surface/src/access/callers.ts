import type { IncomingHttpHeaders } from 'node:http'
import { codeOf, isExposed, isPromise, type Awaitable, type Credentials, type Principal } from '@svc/contract'
import type { FastifyRequest } from 'fastify'
import { parseCookie } from 'cookie'

/** The errors with which a surface refuses credentials. */
export interface CredentialErrors {
  readonly NoToken: new () => Error
  readonly InvalidToken: new (options: ErrorOptions) => Error
}

/**
 * Identifies the caller, in the same way on every surface. An error of `authenticate` means an invalid token, unless its status is
 * 500 or over, or it is exposed and not a 401; null, or an error whose code ends with `_ERR_NO_TOKEN`, means no token.
 * @throws the given errors; errors of 500 and over and exposed ones unchanged; a 500 if the result is neither a principal nor null
 */
export function identify<C extends Credentials>(
  authenticate: (credentials: C) => Awaitable<Principal | null>,
  credentials: C,
  errors: CredentialErrors
): Awaitable<Principal> {
  try {
    const found = authenticate(credentials)
    return isPromise(found)
      ? found.then((principal) => requireFound(principal, errors)).catch((err) => refuse(err, errors))
      : requireFound(found, errors)
  } catch (err) {
    return refuse(err, errors)
  }
}

function requireFound(principal: Principal | null, { NoToken }: CredentialErrors): Principal {
  if (principal === null) throw new NoToken()
  const { sub, scopes } = (principal ?? {}) as Partial<Principal>
  if (typeof sub !== 'string' || sub === '' || !isTexts(scopes))
    throw Object.assign(new Error('authenticate gave neither a principal nor null'), { statusCode: 500 })
  return principal
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

// Reveals nothing about invalid credentials; failures of the service itself are not the caller's fault.
function refuse(err: unknown, { NoToken, InvalidToken }: CredentialErrors): never {
  const { statusCode } = (err ?? {}) as { statusCode?: unknown }
  if (typeof statusCode === 'number' && statusCode >= 500) throw err
  // Any surface's code: surfaces share one `authenticate`.
  if (codeOf(err)?.endsWith('_ERR_NO_TOKEN')) throw new NoToken()
  if (isExposed(err) && statusCode !== 401) throw err
  throw err instanceof InvalidToken ? err : new InvalidToken({ cause: err })
}

const LOOPBACK = /^(?:::1|(?:::ffff:)?127\.)/
const LOCAL_NAME = /^(?:localhost|(?:[^.]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/** The parts of a request that show whether a page of another site has sent it to a service on this machine. */
export interface LocalCall {
  /** The host and port that the client requested. */
  readonly host: string | undefined
  readonly origin: string | undefined
  /** The address at which the connection arrived. */
  readonly localAddress: string | undefined
}

/** The parts of a request that `isStrayCall` needs. In an app with `trustProxy` no request is one: what arrives comes from the proxy. */
export function localCallOf({ headers, socket, ips }: FastifyRequest): LocalCall {
  const { host, origin } = headers
  return { host, origin, localAddress: ips === undefined ? socket.localAddress : undefined }
}

/** True if a connection arrived at an address that only programs on this machine reach. */
export function isLoopback(localAddress: string | undefined): boolean {
  return LOOPBACK.test(localAddress ?? '')
}

/** True for names that lead to this machine without DNS. */
export function isLocalName(hostname: string): boolean {
  return LOCAL_NAME.test(hostname)
}

/**
 * True if a request that arrived on loopback is of a page that has no business there: its host is a name of the page's own, which DNS leads
 * to this machine (DNS rebinding), or its origin is another site. Browsers on this machine would else be a way around the loopback address
 * for any page that they show.
 * @param hosts further names of the service, and of pages that may call it
 */
export function isStrayCall(
  { host = '', origin, localAddress }: LocalCall,
  hosts: readonly string[]
): boolean {
  if (!isLoopback(localAddress)) return false
  // Browsers send a host with every request, most often one that need not be parsed.
  const isStray = host !== '' && !isLocalName(host.replace(PORT, '')) && !isKnown(`http://${host}`, hosts)
  return isStray || (origin !== undefined && !isKnown(origin, hosts))
}

const PORT = /:\d+$/

function isKnown(url: string, hosts: readonly string[]): boolean {
  const hostname = URL.parse(url)?.hostname ?? ''
  return isLocalName(hostname) || hosts.includes(hostname)
}

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

/** The codes of the errors with which a surface refuses a caller. */
export interface ChallengeCodes {
  readonly noToken: string
  readonly invalidToken: string
  /** Its errors may carry a `scope`, which the challenge names. */
  readonly missingScope: string
}

/**
 * The `WWW-Authenticate` header for an error; undefined for errors unrelated to credentials.
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-3
 */
export function toChallenge(err: unknown, codes: ChallengeCodes): string | undefined {
  const { code, scope } = (err ?? {}) as { code?: unknown; scope?: unknown }
  switch (code) {
    case codes.noToken:
      return 'Bearer'
    case codes.invalidToken:
      return 'Bearer error="invalid_token"'
    case codes.missingScope:
      return `Bearer error="insufficient_scope"${typeof scope === 'string' ? `, scope="${toQuoted(scope)}"` : ''}`
    default:
      return undefined
  }
}

function toQuoted(scope: string): string {
  return scope.replaceAll(/["\\]|[^ -~]/g, '')
}
