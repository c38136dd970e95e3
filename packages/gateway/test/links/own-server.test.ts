import { once } from 'node:events'
import gateway, { type GatewayAuthenticate } from '@svc/gateway'
import registry, { createRegistry } from '@svc/registry'
import Fastify, { type FastifyInstance } from 'fastify'
import { Server, type ServerOptions } from 'socket.io'
import { io as connect, type Socket } from 'socket.io-client'
import t from 'tap'
import { jsonParser } from '../helpers/json-parser.ts'
import { RawClient } from '../helpers/raw-client.ts'

t.setTimeout(60_000)

const FILE = Buffer.alloc(900_000, 'x')
const authenticate: GatewayAuthenticate = ({ token }) =>
  token === 'good' ? { sub: 'ann', scopes: ['*'] } : null
const AGENTS = '40/agents,{"token":"good"}'

interface Host {
  app: FastifyInstance
  io: Server
  origin: string
}

/** An app with a Socket.IO server of its own, which takes files on `/uploads`, and the gateway on `/agents`. */
async function buildHost(
  t: { teardown(fn: () => unknown): unknown },
  own: Partial<ServerOptions> = {},
  attach: (io: Server, app: FastifyInstance) => void = (io, app) => void io.attach(app.server)
): Promise<Host> {
  const app = Fastify({ forceCloseConnections: true })
  const io = new Server({ maxHttpBufferSize: 2_000_000, ...own })
  io.of('/uploads').on('connection', (socket) => {
    socket.on('files', (files: Buffer[], ack: (sizes: number[]) => void) =>
      ack(files.map(({ length }) => length))
    )
  })
  attach(io, app)
  await app.register(registry, { registry: createRegistry() })
  await app.register(gateway, { io, namespace: '/agents', authenticate })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => Promise.all([app.close(), io.close()]))
  return { app, io, origin }
}

t.test('its other namespaces accept attachments without limit', async (t) => {
  const { origin } = await buildHost(t)
  const socket: Socket = connect(`${origin}/uploads`, { forceNew: true })
  t.teardown(() => socket.disconnect())
  for (let sent = 0; sent < 3; sent++) {
    const files = Array.from({ length: 10 }, () => FILE)
    t.strictSame(
      await socket.emitWithAck('files', files),
      files.map(({ length }) => length)
    )
  }
})

t.test('the gateway accepts no attachments, nor do unauthenticated clients get any through', async (t) => {
  const { origin } = await buildHost(t)
  const outside = await RawClient.open(origin)
  outside.send('4510-/agents,["agent.run"]')
  t.match(await outside.until((text) => text.startsWith('44')), /^44\/agents,.*GTW_ERR_BAD_PAYLOAD/)
  await outside.untilClosed()

  const inside = await RawClient.open(origin)
  inside.send(AGENTS)
  await inside.until((text) => text.startsWith('40/agents'))
  inside.send('4510-/agents,["agent.run"]')
  t.match(await inside.until((text) => text.startsWith('42')), /gateway\.error.*GTW_ERR_BAD_PAYLOAD/)
  await inside.untilClosed()

  const uploads = await RawClient.connect(origin, '/uploads,')
  uploads.send('4510-/agents,["agent.run"]')
  await uploads.untilClosed()
  t.match(
    uploads.received.at(-1),
    /^44\/agents,.*GTW_ERR_BAD_PAYLOAD/,
    'and none by way of another namespace'
  )
})

t.test('packets to the gateway are counted and measured', async (t) => {
  const { origin } = await buildHost(t)
  const cancel = (runId: string) => `42/agents,["run.cancel",{"runId":"${runId}"}]`
  for (const [code, send] of [
    [
      'GTW_ERR_TOO_MANY_EVENTS',
      (client: RawClient) => Array.from({ length: 60 }, () => client.send(cancel('x')))
    ],
    ['GTW_ERR_PAYLOAD_TOO_LARGE', (client: RawClient) => client.send(cancel('x'.repeat(1_000_000)))]
  ] as const) {
    const client = await RawClient.connect(origin, '/uploads,')
    client.send(AGENTS)
    await client.until((text) => text.startsWith('40/agents'))
    send(client)
    await client.untilClosed()
    t.ok(
      client.received.some((text) => text.includes('gateway.error') && text.includes(code)),
      code
    )
  }
})

t.test('it may have its own parser', async (t) => {
  const { origin } = await buildHost(t, { parser: jsonParser })
  const options = { parser: jsonParser, forceNew: true, transports: ['websocket'], reconnection: false }
  const socket: Socket = connect(`${origin}/agents`, { ...options, auth: { token: 'good' } })
  t.teardown(() => socket.disconnect())
  const cancel = (runId: string) => socket.emitWithAck('run.cancel', { runId })
  t.match(await cancel('none'), { code: 'RUN_ERR_NOT_FOUND' })
  t.match(await cancel('x'.repeat(500_000)), { code: 'GTW_ERR_BAD_PAYLOAD' }, 'then it may send more')
  const gone = once(socket as never, 'disconnect')
  const codes: string[] = []
  socket.on('gateway.error', ({ code }: { code: string }) => void codes.push(code))
  for (let sent = 0; sent < 60; sent++) socket.emit('run.cancel', { runId: 'none' })
  await gone
  t.equal(codes.at(-1), 'GTW_ERR_TOO_MANY_EVENTS')

  const outside: Socket = connect(`${origin}/agents`, { ...options, auth: { note: 'x'.repeat(70_000) } })
  const [err] = (await once(outside as never, 'connect_error')) as [Error & { data: { code: string } }]
  t.equal(err.data.code, 'GTW_ERR_PAYLOAD_TOO_LARGE')
  outside.disconnect()
})

t.test('it may be attached later', async (t) => {
  const { origin } = await buildHost(t, {}, (io, app) => {
    app.addHook('onReady', async () => void io.attach(app.server))
  })
  const client = await RawClient.open(origin)
  client.send('4510-/agents,["agent.run"]')
  t.match(await client.until((text) => text.startsWith('44')), /GTW_ERR_BAD_PAYLOAD/)
  await client.untilClosed()
})

t.test('a server that is not attached is a warning', async (t) => {
  const lines: string[] = []
  const app = Fastify({
    logger: { level: 'warn', stream: { write: (line: string) => void lines.push(line) } }
  })
  t.teardown(() => app.close())
  await app.register(gateway, { io: new Server() })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.match(lines, [/not attached to an HTTP server/])
})

t.test('two gateways on it have separate limits', async (t) => {
  const app = Fastify({ forceCloseConnections: true })
  t.teardown(() => app.close())
  await app.register(gateway, { namespace: '/a', limits: { payload: 1_000, eventsPerSecond: 5 } })
  await app.register(gateway, { namespace: '/b', io: app.io, limits: { payload: 500, eventsPerSecond: 20 } })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const send = async (namespace: string, count: number, size: number) => {
    const client = await RawClient.connect(origin, `${namespace},`)
    for (let sent = 0; sent < count; sent++)
      client.send(`42${namespace},${sent}["run.cancel",{"runId":"${'x'.repeat(size)}"}]`)
    await client.until(
      (text) => text.includes('gateway.error') || text.startsWith(`43${namespace},${count - 1}`)
    )
    client.end()
    return /GTW_ERR_TOO_MANY_EVENTS|GTW_ERR_PAYLOAD_TOO_LARGE/.exec(client.received.join())?.[0]
  }
  t.equal(await send('/a', 6, 1), 'GTW_ERR_TOO_MANY_EVENTS')
  t.equal(await send('/b', 6, 1), undefined)
  t.equal(await send('/a', 1, 600), undefined)
  t.equal(await send('/b', 1, 600), 'GTW_ERR_PAYLOAD_TOO_LARGE')
})
