import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { chromium } from '../../src/chromium/chromium.ts'
import { createHostPolicy } from '../../src/egress/allowed-host.ts'
import { needsChromium } from '../helpers/chromium.ts'
import { deskOptions } from '../helpers/desk-options.ts'
import { fakeDns } from '../helpers/fake-dns.ts'

// A key and a certificate of its own for shop.example, until 2126.
const pem = readFileSync(new URL('../fixtures/shop.example.pem', import.meta.url))

/** A page that collects what its script, its form and its WebSocket get. */
const PAGE = `<!doctype html><title>...</title><script src="/script.js"></script><link rel="stylesheet" href="/style.css">`
const SCRIPT = `(async () => {
  const posted = await (await fetch('/echo', { method: 'POST', body: 'x'.repeat(100_000) })).text()
  const redirected = await (await fetch('/redirect')).text()
  const socket = new WebSocket(location.href.replace('http', 'ws') + 'socket')
  const { data } = await new Promise((resolve) => { socket.onmessage = resolve })
  document.title = [posted, redirected, data].join(' ')
})()`

function answer(request: IncomingMessage, reply: ServerResponse): void {
  const type = request.url === '/' ? 'text/html' : 'text/javascript'
  reply.setHeader('content-type', type)
  if (request.url === '/') reply.end(PAGE)
  else if (request.url === '/script.js') reply.end(SCRIPT)
  else if (request.url === '/redirect') reply.writeHead(307, { location: '/landed' }).end()
  else if (request.url === '/landed') reply.end('landed')
  else if (request.url === '/echo') {
    let size = 0
    request.on('data', (chunk: Buffer) => (size += chunk.length)).on('end', () => reply.end(String(size)))
  } else reply.writeHead(404).end()
}

function acceptSocket(server: Server): void {
  server.on('upgrade', ({ headers }, socket) => {
    const key = createHash('sha1').update(
      `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    )
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key.digest('base64')}\r\n\r\n`
    )
    // One frame of text (RFC 6455, 5.2).
    socket.write(Buffer.from('\x81\x05frame', 'latin1'))
    socket.on('error', () => {})
  })
}

t.test(
  'an allowed host works over HTTP and HTTPS, with redirects, uploads and WebSockets',
  needsChromium,
  async (t) => {
    fakeDns(t, { 'shop.example': '127.0.0.1' })
    const browser = chromium({ sandbox: false, args: ['--ignore-certificate-errors'] })
    t.teardown(() => browser.close())
    const servers = {
      'http:': createHttpServer(answer),
      'https:': createHttpsServer({ key: pem, cert: pem }, answer)
    }
    for (const [scheme, server] of Object.entries(servers)) {
      acceptSocket(server)
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      t.teardown(() => (server.closeAllConnections(), server.close()))
      const host = `shop.example:${(server.address() as AddressInfo).port}`

      const blocked: unknown[] = []
      const options = deskOptions({
        hosts: createHostPolicy([], [host]),
        onBlocked: (refusal) => blocked.push(refusal)
      })
      const desk = await browser.open(options)
      await desk.act({ action: 'open', url: `${scheme}//${host}/` }, options.signal)
      while ((await desk.place()).title === '...') await new Promise(setImmediate)
      t.equal((await desk.place()).title, '100000 landed frame', scheme)
      t.same(blocked, [])
      await desk.close()
    }
  }
)
