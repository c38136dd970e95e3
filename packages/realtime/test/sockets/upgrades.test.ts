import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import gateway from '@svc/gateway'
import { scriptedRunnable } from '@svc/testing'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { WebSocket } from 'ws'
import { buildRealtime } from '../helpers/build-realtime.ts'

const echo = scriptedRunnable([{ type: 'text', text: 'Hello' }], { name: 'echo' })

for (const order of ['before', 'after'] as const)
  t.test(`Socket.IO ${order} it on the same server`, async (t) => {
    const { open, host } = await buildRealtime(t, {
      options: {
        // Longer than Engine.IO leaves an upgrade without an answer.
        authenticate: () => pause(1_200).then(() => ({ sub: 'ann', scopes: [] })),
        authorize: false
      },
      [order]: (app: Parameters<typeof gateway>[0]) =>
        app.register(gateway, { agents: [echo], authenticate: false })
    })
    const socket = new WebSocket(`ws://${host}/socket.io/?EIO=4&transport=websocket`)
    t.teardown(() => socket.terminate())
    const [handshake] = (await once(socket, 'message')) as [Buffer]
    t.match(handshake.toString(), /^0\{"sid"/)
    t.match(await open().next('session.created'), { session: { model: 'voice' } })
    await pause(50)
    t.equal(socket.readyState, socket.OPEN)
  })

t.test('hooks of the app run for the handshake', async (t) => {
  const { open } = await buildRealtime(t, {
    before: (app) =>
      app.addHook('onRequest', async (request, reply) => {
        if (request.url.startsWith('/v1/realtime')) await reply.code(429).send({ slow: 'down' })
      })
  })
  const { ws } = open()
  const [, response] = (await once(ws, 'unexpected-response')) as [unknown, { statusCode: number }]
  t.equal(response.statusCode, 429)
})

t.test('a plain request, and an upgrade of another path', async (t) => {
  const { app, host } = await buildRealtime(t)
  const plain = await app.inject('/v1/realtime?model=voice')
  t.equal(plain.statusCode, 426)
  t.match(plain.json(), { error: { code: 'RT_ERR_UPGRADE_REQUIRED', type: 'invalid_request_error' } })
  t.equal(plain.headers.upgrade, 'websocket')

  const other = new WebSocket(`ws://${host}/elsewhere`)
  const [, response] = (await once(other, 'unexpected-response')) as [unknown, { statusCode: number }]
  t.equal(response.statusCode, 404)
})

t.test('the connection of a refused handshake ends, even if its client keeps it open', async (t) => {
  const { host } = await buildRealtime(t)
  const [address, port] = host.split(':')
  for (const path of ['/v1/realtime', '/elsewhere']) {
    const tcp = connectTcp({ port: Number(port), host: address!, allowHalfOpen: true })
    t.teardown(() => tcp.destroy())
    tcp.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
    const [answer] = (await once(tcp, 'data')) as [Buffer]
    t.match(answer.toString(), /^HTTP\/1.1 40[04] /)
    tcp.resume()
    await once(tcp, 'end')
    // The server has closed its side as a whole: what is sent to it is answered by a reset.
    const timer = setInterval(() => tcp.write('x'), 10)
    t.teardown(() => clearInterval(timer))
    const [err] = (await once(tcp, 'error')) as [NodeJS.ErrnoException]
    clearInterval(timer)
    t.match(err.code, /^(?:ECONNRESET|EPIPE)$/)
  }
})

t.test('a broken handshake is refused, and nothing else happens', async (t) => {
  const { host, open } = await buildRealtime(t)
  const [address, port] = host.split(':')
  for (const key of ['', 'Sec-WebSocket-Key: bad\r\n']) {
    const tcp = connectTcp(Number(port), address)
    tcp.write(
      `GET /v1/realtime?model=voice HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\n${key}\r\n`
    )
    const [data] = (await once(tcp, 'data')) as [Buffer]
    t.match(data.toString(), /^HTTP\/1.1 400 /)
    tcp.destroy()
  }
  t.ok(await open().next('session.created'))
})
