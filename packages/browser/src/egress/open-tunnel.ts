import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { GuardedDialer } from './guarded-dialer.ts'
import {
  endToEndHeaders,
  formatHead,
  parseAbsolute,
  parseAuthority,
  type ProxyTarget
} from './proxy-message.ts'
import { toAnswer } from './refused.ts'

/** Serves `CONNECT`: TLS and WebSocket, end to end. */
export function openTunnel(
  dialer: GuardedDialer,
  request: IncomingMessage,
  client: Socket,
  head: Buffer
): Promise<void> {
  const greet = () => client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
  return join(dialer, request, parseAuthority(request.url), client, head, greet)
}

/** Serves a WebSocket handshake in absolute form; no other protocol is switched to. */
export function openWebSocket(
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
        ...['Host', target?.host ?? ''],
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
export function endWith(client: Socket, status: string, text: string, headers: readonly string[] = []): void {
  const fields = [
    ...headers,
    ...['Content-Type', 'text/plain; charset=utf-8'],
    ...['Content-Length', String(Buffer.byteLength(text)), 'Connection', 'close']
  ]
  client.end(formatHead(`HTTP/1.1 ${status}`, fields) + text)
  client.resume()
  client.setTimeout(LINGER, () => client.destroy())
}
