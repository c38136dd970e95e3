import type { IncomingMessage } from 'node:http'
import { normalizeHost } from './allowed-host.ts'

/** Where a request to the proxy is to go. */
export interface ProxyTarget {
  readonly hostname: string
  readonly port: number
}

/** Where a plain HTTP request is to go. */
export interface AbsoluteTarget extends ProxyTarget {
  /** The value of `Host`. */
  readonly host: string
  /** With the query. */
  readonly path: string
}

// RFC 9110, 7.6.1, and what older clients send to proxies.
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade'
])

/** Parses the target of `CONNECT`: a host and its port (RFC 9110, 9.3.6); undefined if malformed. */
export function parseAuthority(text: string | undefined): ProxyTarget | undefined {
  const [, host = '', digits = ''] = /^(.+):(\d{1,5})$/.exec(text ?? '') ?? []
  const hostname = normalizeHost(host)
  const port = Number(digits)
  return hostname === undefined || port < 1 || port > 65_535 ? undefined : { hostname, port }
}

/** Parses a request line in absolute form (RFC 9112, 3.2.2); undefined if malformed, or of another scheme than http. */
export function parseAbsolute(text: string | undefined): AbsoluteTarget | undefined {
  const url = /^http:\/\//i.test(text ?? '') ? URL.parse(text ?? '') : null
  const hostname = url === null ? undefined : normalizeHost(url.hostname)
  if (url === null || hostname === undefined || url.port === '0') return undefined
  return { hostname, port: Number(url.port || 80), path: url.pathname + url.search, host: url.host }
}

/**
 * The headers of a message that go beyond the proxy, in the form of `rawHeaders`.
 * @param dropped names that are left out as well, in lower case
 */
export function endToEndHeaders(message: IncomingMessage, ...dropped: string[]): string[] {
  const listed = (message.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  const left = new Set([...listed, ...dropped])
  const { rawHeaders } = message
  return rawHeaders.filter((_, index) => {
    const name = (rawHeaders[index - (index % 2)] ?? '').toLowerCase()
    return !HOP_BY_HOP.has(name) && !left.has(name)
  })
}

/** Formats the head of a request. */
export function formatHead(requestLine: string, headers: readonly string[]): string {
  const lines = [requestLine]
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
