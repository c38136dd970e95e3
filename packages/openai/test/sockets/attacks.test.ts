import { once } from 'node:events'
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { defineRunnable } from '@svc/registry'
import t from 'tap'
import { WebSocket } from 'ws'
import { RawSocket } from '../helpers/raw-socket.ts'
import { supportAgent } from '../helpers/agents.ts'
import { gatedAgent, until } from '../helpers/gated-agent.ts'
import { openAiApp } from '../helpers/openai-app.ts'
import { ResponseSocket } from '../helpers/response-socket.ts'

const MEGABYTE = 1_048_576

/** The close code of the frame with which a server ends a connection. */
const closeCodeOf = (received: Buffer) => {
  const at = received.indexOf(0x88)
  return at < 0 ? undefined : received.readUInt16BE(at + 2)
}

t.test('frames that break RFC 6455 close their connection with the code that is due', async (t) => {
  const { add } = supportAgent(['Hello'])
  const { origin } = await openAiApp(t, { add, options: { bodyLimit: 20_000 } })
  const attacks: [what: string, frame: Buffer[], code: number][] = [
    ['a text that is not UTF-8', [RawSocket.frame(0x81, Buffer.from([0xff, 0xfe]))], 1007],
    ['a text cut within a character', [RawSocket.frame(0x81, Buffer.from([0xe2, 0x82]))], 1007],
    ['a compressed frame: compression was not agreed', [RawSocket.frame(0xc1, Buffer.from('x'))], 1002],
    ['an unmasked frame', [Buffer.from([0x81, 0x01, 0x78])], 1002],
    ['an opcode that is not there', [RawSocket.frame(0x83, Buffer.from('x'))], 1002],
    ['a continuation of nothing', [RawSocket.frame(0x80, Buffer.from('x'))], 1002],
    ['a ping in two frames', [RawSocket.frame(0x09, Buffer.from('x'))], 1002],
    ['a length of 2^63 bytes', [Buffer.from([0x81, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])], 1009],
    [
      'a message whose fragments are too large together',
      [RawSocket.frame(0x01, Buffer.alloc(15_000)), RawSocket.frame(0x80, Buffer.alloc(15_000))],
      1009
    ]
  ]
  for (const [what, frames, code] of attacks) {
    const socket = await RawSocket.open(origin, '/v1/responses')
    const closed = once(socket.tcp, 'close')
    for (const frame of frames) socket.tcp.write(frame)
    await until(() => closeCodeOf(socket.received) !== undefined || socket.tcp.destroyed)
    t.equal(closeCodeOf(socket.received), code, what)
    socket.tcp.destroy()
    await closed
  }
})

t.test('a client that pings and reads no answers is disconnected', async (t) => {
  const { add } = supportAgent(['Hello'])
  const { origin, app } = await openAiApp(t, { add })
  const accepted = once(app.server, 'connection') as Promise<[Socket]>
  const socket = await RawSocket.open(origin, '/v1/responses')
  const [connection] = await accepted
  socket.tcp.pause()
  const ping = RawSocket.frame(0x89, Buffer.alloc(100))
  const closed = once(connection, 'close')
  for (let sent = 0; sent < 10_000; sent += 100) socket.tcp.write(Buffer.concat(Array(100).fill(ping)))
  await closed
  t.ok(connection.bytesWritten < MEGABYTE, 'few were answered')
  socket.tcp.destroy()
})

t.test('a client may ping now and then', async (t) => {
  const { add } = supportAgent(['Hello'])
  const { baseURL } = await openAiApp(t, { add })
  const socket = new ResponseSocket(baseURL)
  t.teardown(() => socket.ws.close())
  await once(socket.ws, 'open')
  for (let n = 0; n < 5; n++) {
    socket.ws.ping()
    await once(socket.ws, 'pong')
  }
  t.match(await socket.ask({ model: 'support', input: 'Hi' }), { response: { status: 'completed' } })
})

t.test('a slow client costs little memory', async (t) => {
  const talker = defineRunnable({
    kind: 'agent',
    name: 'talker',
    async *stream() {
      for (let n = 0; n < 100; n++) yield { type: 'text', text: 'x'.repeat(200_000) }
    }
  })
  const { baseURL, app } = await openAiApp(t, { runnables: [talker] })
  const accepted = once(app.server, 'connection') as Promise<[Socket]>
  const ws = new WebSocket(`${baseURL.replace('http', 'ws')}/responses`)
  await once(ws, 'open')
  const [connection] = await accepted
  ws.pause()
  ws.send(JSON.stringify({ type: 'response.create', model: 'talker', input: 'Go' }))
  await until(() => connection.writableLength > MEGABYTE || connection.destroyed)
  // What is not held back comes meanwhile.
  for (let turn = 0; turn < 500; turn++) await new Promise((resolve) => setImmediate(resolve))
  const { writableLength } = connection
  t.notOk(connection.destroyed)
  t.ok(writableLength < 4 * MEGABYTE, `${writableLength} bytes wait`)
  ws.terminate()
  await until(() => connection.destroyed)
})

t.test('a half-open connection ends after a ping without an answer', async (t) => {
  const { agent, gates, aborted } = gatedAgent()
  const { origin, app } = await openAiApp(t, { runnables: [agent], options: { heartbeat: 1_000 } })
  const accepted = once(app.server, 'connection') as Promise<[Socket]>
  const socket = await RawSocket.open(origin, '/v1/responses')
  const [connection] = await accepted
  const create = JSON.stringify({ type: 'response.create', model: 'gated', input: 'a' })
  socket.tcp.write(RawSocket.frame(0x81, Buffer.from(create)))
  await until(() => gates.length === 1)
  await once(connection, 'close')
  await aborted
  t.pass('its run is canceled')
  socket.tcp.destroy()
})

t.test('more than 100 events in a second close the connection', async (t) => {
  const { add } = supportAgent(['Hello'])
  const { baseURL } = await openAiApp(t, { add })
  const socket = new ResponseSocket(baseURL)
  await once(socket.ws, 'open')
  const closed = socket.closed()
  const flood = JSON.stringify({ type: 'response.steer', previous_response_id: 'resp_x', input: 'x' })
  // A second of the clock may begin meanwhile.
  for (let sent = 0; sent < 500; sent++) socket.ws.send(flood)
  t.same(await closed, [1008, 'OPENAI_ERR_TOO_MANY_EVENTS'])
})

t.test('a handshake that is refused leaves nothing behind', async (t) => {
  const { add } = supportAgent(['Hello'])
  const { origin, app } = await openAiApp(t, { add })
  for (const [headers, status] of [
    [{ 'Sec-WebSocket-Version': '7' }, 400],
    [{ 'Sec-WebSocket-Key': 'short' }, 400],
    [{ Origin: 'https://evil.example' }, 403]
  ] as const) {
    const socket = await RawSocket.open(origin, '/v1/responses', headers)
    t.match(String(socket.received), new RegExp(`^HTTP/1.1 ${status} `))
    await (socket.tcp.closed || once(socket.tcp, 'close'))
  }
  while ((await promisify(app.server.getConnections).call(app.server)) !== 0) await until(() => true)
  const ws = new WebSocket(`${origin.replace('http', 'ws')}/v1/responses?api-version=1`)
  await once(ws, 'open')
  ws.terminate()
})

t.test('an app that closes cancels the response under way and tells its client', async (t) => {
  const { agent, gates, aborted } = gatedAgent()
  const { baseURL, app } = await openAiApp(t, { runnables: [agent] })
  const socket = new ResponseSocket(baseURL)
  for (const stream_id of ['a', 'b'])
    await socket.send({
      type: 'response.create',
      model: 'gated',
      input: 'x',
      ...(stream_id === 'a' && { stream_id })
    })
  await until(() => gates.length > 0)
  const closed = socket.closed()
  await app.close()
  await aborted
  t.match(await closed, [1012])
})
