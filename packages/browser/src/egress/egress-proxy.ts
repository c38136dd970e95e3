import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { RUN_ERR_BROWSER_FAILED } from '../errors.ts'
import { normalizeHost } from './allowed-host.ts'
import { GuardedDialer, Refused, toAnswer, type DialerOptions } from './guarded-dialer.ts'

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
function parseAuthority(text: string | undefined): ProxyTarget | undefined {
  const [, host = '', digits = ''] = /^(.+):(\d{1,5})$/.exec(text ?? '') ?? []
  const hostname = normalizeHost(host)
  const port = Number(digits)
  return hostname === undefined || port < 1 || port > 65_535 ? undefined : { hostname, port }
}

/** Parses a request line in absolute form (RFC 9112, 3.2.2); undefined if malformed, or of another scheme than http. */
function parseAbsolute(text: string | undefined): AbsoluteTarget | undefined {
  const url = /^http:\/\//i.test(text ?? '') ? URL.parse(text ?? '') : null
  const hostname = url === null ? undefined : normalizeHost(url.hostname)
  if (url === null || hostname === undefined || url.port === '0') return undefined
  return { hostname, port: Number(url.port || 80), path: url.pathname + url.search, host: url.host }
}

/**
 * The headers of a message that go beyond the proxy, in the form of `rawHeaders`.
 * @param dropped names that are left out as well, in lower case
 */
function endToEndHeaders(message: IncomingMessage, ...dropped: string[]): string[] {
  const listed = (message.headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  const left = new Set([...listed, ...dropped])
  const { rawHeaders } = message
  return rawHeaders.filter((_, index) => {
    const name = (rawHeaders[index - (index % 2)] ?? '').toLowerCase()
    return !HOP_BY_HOP.has(name) && !left.has(name)
  })
}

/** Formats the head of a request. */
function formatHead(requestLine: string, headers: readonly string[]): string {
  const lines = [requestLine]
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Serves a plain HTTP request: judges its target, connects, and passes request and response on. */
async function forwardRequest(
  dialer: GuardedDialer,
  request: IncomingMessage,
  reply: ServerResponse
): Promise<void> {
  reply.sendDate = false
  try {
    const target = parseAbsolute(request.url)
    if (target === undefined) throw dialer.refuseMalformed(request.url)
    const socket = await dialer.connect(target.hostname, target.port)
    if (socket.destroyed) throw new Error('The connection was closed')
    if (reply.destroyed) socket.destroy()
    else exchange(socket, target, request, reply)
  } catch (err) {
    refuse(request, reply, err)
  }
}

function exchange(
  socket: Socket,
  target: AbsoluteTarget,
  request: IncomingMessage,
  reply: ServerResponse
): void {
  const { host, path } = target
  const upstream = send({
    createConnection: () => socket,
    method: request.method,
    path,
    headers: [
      // The request line counts (RFC 9112, 3.2.2), and the proxy has answered what is expected of it.
      'Host',
      host,
      ...endToEndHeaders(request, 'host', 'expect', 'content-length'),
      ...framing(request)
    ]
  })
  upstream.on('response', (response) => {
    try {
      const { statusCode = 502, statusMessage } = response
      // Only a proxy sends 407: the browser would forget the credentials of this one.
      if (statusCode === 407) throw new Error('A host answered with 407')
      reply.writeHead(statusCode, statusMessage, endToEndHeaders(response))
      pipeline(response, reply, () => socket.destroy())
    } catch (err) {
      // A header or reason phrase that Node.js does not send.
      upstream.destroy(err as Error)
    }
  })
  upstream.on('error', (err) => refuse(request, reply, err))
  // Node.js reports no error if the host switches protocols unasked.
  socket.once('close', () => !reply.headersSent && refuse(request, reply, new Error('No response')))
  reply.on('close', () => socket.destroy())
  request.pipe(upstream)
}

/** How a request marks the end of its body; without it there is none. */
function framing({ headers }: IncomingMessage): string[] {
  if (headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked']
  const { 'content-length': length } = headers
  return length === undefined ? [] : ['Content-Length', length]
}

function refuse(request: IncomingMessage, reply: ServerResponse, err: unknown): void {
  if (reply.writableEnded) return
  if (reply.headersSent) return void reply.destroy()
  const { status, phrase, text } = toAnswer(err)
  // What is left of an upload would only be discarded.
  if (err instanceof Refused && err.reason === 'bytes') reply.shouldKeepAlive = false
  request.resume()
  const type = ['Content-Type', 'text/plain; charset=utf-8', 'Cache-Control', 'no-store']
  reply.writeHead(status, phrase, [...type, 'Content-Length', String(Buffer.byteLength(text))])
  reply.end(text)
}

/** Serves `CONNECT`: TLS and WebSocket, end to end. */
function openTunnel(
  dialer: GuardedDialer,
  request: IncomingMessage,
  client: Socket,
  head: Buffer
): Promise<void> {
  const greet = () => client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
  return join(dialer, request, parseAuthority(request.url), client, head, greet)
}

/** Serves a WebSocket handshake in absolute form; no other protocol is switched to. */
function openWebSocket(
  dialer: GuardedDialer,
  request: IncomingMessage,
  client: Socket,
  head: Buffer
): Promise<void> {
  const isWebSocket = request.method === 'GET' && request.headers.upgrade?.toLowerCase() === 'websocket'
  const target = isWebSocket ? parseAbsolute(request.url) : undefined
  const headers = ['Connection', 'Upgrade', 'Upgrade', 'websocket']
  return join(dialer, request, target, client, head, (upstream) =>
    upstream.write(
      formatHead(`GET ${target?.path} HTTP/1.1`, [
        'Host',
        target?.host ?? '',
        ...endToEndHeaders(request, 'host', 'content-length'),
        ...headers
      ])
    )
  )
}

async function join(
  dialer: GuardedDialer,
  request: IncomingMessage,
  target: ProxyTarget | undefined,
  client: Socket,
  head: Buffer,
  greet: (upstream: Socket) => void
): Promise<void> {
  try {
    if (target === undefined) throw dialer.refuseMalformed(request.url)
    const upstream = await dialer.connect(target.hostname, target.port)
    if (client.destroyed) return void upstream.destroy()
    greet(upstream)
    client.unshift(head)
    // A failure of one direction ends both; the end of one leaves the other open.
    pipeline(client, upstream, () => {})
    pipeline(upstream, client, () => {})
  } catch (err) {
    const { status, phrase, text } = toAnswer(err)
    endWith(client, `${status} ${phrase}`, text)
  }
}

const LINGER = 1_000

/** Answers on a bare socket and closes it, at the latest after a second. */
function endWith(client: Socket, status: string, text: string, headers: readonly string[] = []): void {
  const fields = [
    ...headers,
    'Content-Type',
    'text/plain; charset=utf-8',
    'Content-Length',
    String(Buffer.byteLength(text)),
    'Connection',
    'close'
  ]
  client.end(formatHead(`HTTP/1.1 ${status}`, fields) + text)
  client.resume()
  client.setTimeout(LINGER, () => client.destroy())
}

/** The only way out of a desk. */
export interface EgressProxy {
  /** The `proxy` of Playwright's `newContext`, and the credentials for it. */
  readonly settings: {
    readonly server: string
    readonly username: string
    readonly password: string
    readonly bypass: string
  }
  /** Bytes of all connections so far, in both directions. */
  readonly bytes: number
  /** `RUN_ERR_BROWSER_TOO_LARGE` once the connections have exceeded their bytes; they are closed then, and no other is opened. */
  readonly error: Error | undefined
  /** Ends all connections and the listener; safe to call twice. */
  close(): Promise<void>
}

/** What a desk asks its proxy for first, to learn whether it has the credentials: the proxy answers it itself, with 204. */
export const GREETING = 'http://desk.invalid/'

const HOST = '127.0.0.1'
const USERNAME = 'desk'
const MAX_CLIENTS = 256
const MAX_HEADER_BYTES = 64 * 1024
const HEADERS_TIMEOUT = 10_000
const CHALLENGE = ['proxy-authenticate', 'Basic realm="desk"']
const NO_CREDENTIALS = 'No credentials of the desk.\n'

/**
 * Opens the proxy of a desk on a loopback port: plain HTTP, and tunnels for TLS and WebSocket. Each request is judged by its own request line
 * and gets a connection of its own. Other programs on the machine lack its credentials.
 * @throws RUN_ERR_BROWSER_FAILED
 */
export async function openEgressProxy(options: DialerOptions): Promise<EgressProxy> {
  const dialer = new GuardedDialer(options)
  const password = randomBytes(32).toString('base64url')
  const isOwn = createAuthCheck(password)
  const clients = new Set<Socket>()

  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_TIMEOUT },
    (request, reply) => {
      if (isOwn(request)) {
        if (request.url === GREETING) reply.writeHead(204).end()
        else void forwardRequest(dialer, request, reply)
      } else {
        request.resume()
        reply.writeHead(407, CHALLENGE).end(NO_CREDENTIALS)
      }
    }
  )
  server.maxConnections = MAX_CLIENTS
  server.on('connection', (socket: Socket) => {
    clients.add(socket)
    socket.once('close', () => clients.delete(socket))
  })
  const openers = { connect: openTunnel, upgrade: openWebSocket }
  for (const [event, open] of Object.entries(openers))
    server.on(event, (request: IncomingMessage, socket: Socket, head: Buffer) => {
      // The HTTP server has let go of the socket, and of its errors: its end is in `close`.
      socket.on('error', () => {})
      if (isOwn(request)) void open(dialer, request, socket, head)
      else endWith(socket, '407 Proxy Authentication Required', NO_CREDENTIALS, CHALLENGE)
    })
  server.listen(0, HOST)
  await once(server, 'listening').catch((err: unknown) => {
    throw new RUN_ERR_BROWSER_FAILED(`its proxy cannot listen: ${(err as NodeJS.ErrnoException).code}`)
  })

  let closed: Promise<void> | undefined
  async function close(): Promise<void> {
    const ended = once(server, 'close')
    server.close()
    dialer.close()
    for (const socket of clients) socket.destroy()
    await ended
  }
  return {
    settings: {
      server: `http://${HOST}:${(server.address() as AddressInfo).port}`,
      username: USERNAME,
      password,
      // Without it Chromium would connect to loopback addresses itself.
      bypass: '<-loopback>'
    },
    get bytes() {
      return dialer.bytes
    },
    get error() {
      return dialer.error
    },
    close: () => (closed ??= close())
  }
}

/** Checks `Proxy-Authorization` in constant time. */
function createAuthCheck(password: string): (request: IncomingMessage) => boolean {
  const expected = digest(`Basic ${Buffer.from(`${USERNAME}:${password}`).toString('base64')}`)
  return ({ headers }) => timingSafeEqual(digest(headers['proxy-authorization'] ?? ''), expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
