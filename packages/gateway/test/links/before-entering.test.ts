import { once } from 'node:events'
import { request } from 'node:http'
import type { GatewayOptions } from '@svc/gateway'
import type { Namespace } from 'socket.io'
import t from 'tap'
import { buildGateway } from '../helpers/build-gateway.ts'
import { openPolling } from '../helpers/open-polling.ts'
import { RawClient } from '../helpers/raw-client.ts'

t.setTimeout(60_000)

const authenticate: GatewayOptions['authenticate'] = ({ token }) =>
  token === 'good' ? { sub: 'ann', scopes: ['*'] } : null
const ATTACHMENT = Buffer.alloc(990_000)

/** Whether an attack ends its connection, and not the time-out of Socket.IO, which would end one that is older first. */
async function isEndedEarly(
  origin: string,
  attack: (client: RawClient) => unknown,
  open = () => RawClient.open(origin)
): Promise<boolean> {
  const idle = await RawClient.open(origin)
  const client = await open()
  attack(client)
  await client.untilClosed()
  idle.send('40/none,')
  const isEarly = (await idle.until((text) => text.startsWith('44/none,'))) !== undefined
  idle.end()
  return isEarly
}

t.test('memory-consuming clients are disconnected before authentication', async (t) => {
  const { origin, connect } = await buildGateway(t, { options: { authenticate } })
  const attacks: Record<string, (client: RawClient) => void> = {
    'attachments that are announced': (client) => client.send('4510-["x"]'),
    'attachments after a refused handshake': (client) => {
      client.send('40')
      client.send('452-["x",{"_placeholder":true,"num":0}]')
      client.send(ATTACHMENT)
    },
    'attachments for a namespace that is not there': (client) => client.send('451-/none,["x"]'),
    'attachments in the spelling of no client': (client) => client.send('451e0-["x"]'),
    'a binary message': (client) => client.send(ATTACHMENT),
    'a large message': (client) => client.send(`40{"token":"${'x'.repeat(70_000)}"}`),
    'a message that does not end': (client) => client.sendUnfinished(200_000),
    'small ones that add up': (client) => {
      for (let sent = 0; sent < 20; sent++) client.send(`40/none,{"x":"${'x'.repeat(10_000)}"}`)
    },
    'pings without end': (client) => {
      for (let sent = 0; sent < 1_000; sent++) client.ws.ping('x'.repeat(100))
    },
    'pongs without end': (client) => {
      for (let sent = 0; sent < 1_000; sent++) client.send('3')
    }
  }
  for (const [what, attack] of Object.entries(attacks)) t.ok(await isEndedEarly(origin, attack), what)
  t.match(await (await connect({ auth: { token: 'good' } })).emitWithAck('run.cancel', { runId: 'none' }), {
    code: 'RUN_ERR_NOT_FOUND'
  })
})

t.test('excess pings are not answered', async (t) => {
  const limits = { eventsPerSecond: 20 }
  const { origin } = await buildGateway(t, { options: { limits } })
  for (const isIn of [false, true]) {
    const client = await RawClient.open(origin)
    if (isIn) {
      client.send('40')
      await client.until((text) => text.startsWith('40'))
    }
    let answered = 0
    client.ws.on('pong', () => answered++)
    for (let sent = 0; sent < 500; sent++) client.ws.ping()
    await client.untilClosed()
    // The one that is too many is answered before it is seen.
    t.ok(answered <= limits.eventsPerSecond + 1, `${answered} answers`)
  }
})

t.test('unfinished messages on a probed WebSocket are cut too', async (t) => {
  const { origin } = await buildGateway(t, { options: { authenticate } })
  const { sid } = await openPolling(origin)
  const upgrade = () => RawClient.open(origin, { query: `transport=websocket&sid=${sid}` })
  t.ok(await isEndedEarly(origin, (client) => client.sendUnfinished(200_000), upgrade))
})

t.test('polling: a large body, or one without a length, is cut too', async (t) => {
  const { origin } = await buildGateway(t, { options: { authenticate } })
  const bodies: RequestInit[] = [
    { body: `4${'x'.repeat(70_000)}` },
    { body: new Blob(['40']).stream(), duplex: 'half' } as RequestInit
  ]
  for (const body of bodies) {
    const { url } = await openPolling(origin)
    const answer = await fetch(url, { method: 'POST', ...body })
    t.equal(answer.status, 413)
    t.equal((await fetch(url)).status, 400, 'the session is over')
  }

  const { url } = await openPolling(origin)
  const unfinished = request(url, { method: 'POST', headers: { 'content-length': 990_000 } })
  unfinished.write('x'.repeat(10_000))
  const [{ statusCode }] = (await once(unfinished, 'response')) as [{ statusCode: number }]
  t.equal(statusCode, 413, 'before it is there')
  unfinished.destroy()
})

t.test('a handshake below `limits.handshake` is accepted over both transports', async (t) => {
  const { origin, connect, open } = await buildGateway(t, { options: { limits: { handshake: 5_000 } } })
  for (const transport of ['websocket', 'polling']) {
    const client = await connect({ transports: [transport], auth: { note: 'x'.repeat(4_900) } })
    const large = { runId: 'x'.repeat(500_000) }
    t.match(await client.emitWithAck('run.cancel', large), { code: 'GTW_ERR_BAD_PAYLOAD' }, 'then more is')
    const refused = open({ transports: [transport], auth: { note: 'x'.repeat(5_000) } })
    await new Promise((resolve) => refused.once('connect_error', resolve))
  }
  const client = await RawClient.open(origin)
  client.send(`40{"note":"${'x'.repeat(5_000)}"}`)
  t.match(await client.until((text) => text.startsWith('44')), /GTW_ERR_PAYLOAD_TOO_LARGE/)
  await client.untilClosed()
})

t.test(
  'a connection that was let in while it polled may go on as a WebSocket with large messages',
  async (t) => {
    const { connect } = await buildGateway(t)
    const client = await connect({ transports: ['polling', 'websocket'] })
    const { engine } = client.io
    if (engine.transport.name !== 'websocket') await once(engine as never, 'upgrade')
    const ack = await client.emitWithAck('run.cancel', { runId: 'x'.repeat(500_000) })
    t.match(ack, { code: 'GTW_ERR_BAD_PAYLOAD' })
  }
)

t.test('beyond `limits.waiting` the oldest connection is closed', async (t) => {
  const { origin, connect } = await buildGateway(t, { options: { limits: { waiting: 2 } } })
  const inside = await connect()
  const [first, second, third] = [
    await RawClient.open(origin),
    await RawClient.open(origin),
    await RawClient.open(origin)
  ]
  await first.untilClosed()
  t.match(first.received, [/^0/, /^44.*GTW_ERR_TOO_MANY_WAITING/])
  second.send('40')
  await second.until((text) => text.startsWith('40'))
  const fourth = await RawClient.open(origin)
  await (await RawClient.open(origin)).until((text) => text.startsWith('0'))
  await third.untilClosed()
  t.notOk(fourth.closed)
  t.notOk(second.closed, 'who is in does not wait')
  t.ok(inside.connected)
  for (const each of [second, fourth]) each.end()
})

t.test(
  'nothing is kept for a client that leaves while authentication hangs, or the middleware',
  async (t) => {
    for (const place of ['authenticate', 'middleware'] as const) {
      let calls = 0
      const hang = () => new Promise<never>(() => calls++)
      const { origin, app } = await buildGateway(t, { options: { [place]: hang } })
      const client = await RawClient.open(origin)
      client.send('40')
      const { _preConnectSockets: entering } = app.io.of('/') as unknown as {
        _preConnectSockets: Map<string, object>
      }
      while (calls === 0) await new Promise(setImmediate)
      t.equal(entering.size, 1)
      const [link] = Object.values(
        (app.io.engine as unknown as { clients: Record<string, Namespace> }).clients
      )
      const gone = once(link!, 'close')
      client.end()
      await gone
      while (entering.size > 0) await new Promise(setImmediate)
      t.pass(place)
    }
  }
)

t.test('a connection has one pending handshake at a time', async (t) => {
  let calls = 0
  let settle = () => {}
  const { origin } = await buildGateway(t, {
    options: {
      authenticate: () => {
        calls++
        return new Promise((resolve) => (settle = () => resolve({ sub: 'ann', scopes: [] })))
      }
    }
  })
  const patient = await RawClient.open(origin)
  patient.send('40')
  while (calls < 1) await new Promise(setImmediate)
  settle()
  await patient.until((text) => text.startsWith('40'))

  const client = await RawClient.open(origin)
  for (let sent = 0; sent < 40; sent++) client.send('40')
  t.match(await client.until((text) => text.startsWith('44')), /GTW_ERR_HANDSHAKE_TWICE/)
  await client.untilClosed()
  t.equal(calls, 2)
  t.notOk(patient.closed)
  patient.end()
})

t.test('a connection admitted twice is closed', async (t) => {
  const { origin } = await buildGateway(t, {
    options: { middleware: (_socket, next) => void setTimeout(next, 50) }
  })
  const client = await RawClient.open(origin)
  client.send('40')
  await new Promise((resolve) => setTimeout(resolve, 10))
  client.send('40')
  await client.untilClosed()
})

t.test('a namespace without listeners does not admit a connection', async (t) => {
  const { origin, app } = await buildGateway(t, { options: { authenticate, namespace: '/agents' } })
  const attacks: ((client: RawClient) => void)[] = [
    (client) => client.send('4510-["x"]'),
    (client) => client.send(`42["x","${'x'.repeat(70_000)}"]`),
    (client) => client.sendUnfinished(200_000)
  ]
  for (const attack of attacks)
    t.ok(await isEndedEarly(origin, attack, () => RawClient.connect(origin)), attack.toString())

  app.io.on('connection', () => {})
  const served = await RawClient.connect(origin)
  served.send('451-["x",{"_placeholder":true,"num":0}]')
  served.send(ATTACHMENT)
  served.send(`42["x","${'x'.repeat(70_000)}"]`)
  served.send('40/agents,{"token":"good"}')
  await served.until((text) => text.startsWith('40/agents'))
  served.send('42/agents,0["run.cancel",{"runId":"none"}]')
  t.match(await served.until((text) => text.startsWith('43/agents')), /RUN_ERR_NOT_FOUND/)
  served.end()
})
