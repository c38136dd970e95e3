import { request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { GuardedDialer } from './guarded-dialer.ts'
import { endToEndHeaders, parseAbsolute, type AbsoluteTarget } from './proxy-message.ts'
import { Refused, toAnswer } from './refused.ts'

/** Serves a plain HTTP request: judges its target, connects, and passes request and response on. */
export async function forwardRequest(
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
      ...['Host', host],
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
