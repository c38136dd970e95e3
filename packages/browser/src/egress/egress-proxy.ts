import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { RUN_ERR_BROWSER_FAILED } from '../errors.ts'
import { forwardRequest } from './forward-request.ts'
import { GuardedDialer, type DialerOptions } from './guarded-dialer.ts'
import { endWith, openTunnel, openWebSocket } from './open-tunnel.ts'

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
