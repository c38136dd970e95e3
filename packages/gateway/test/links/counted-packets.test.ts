import { once } from 'node:events'
import type { GatewayOptions } from '@svc/gateway'
import t from 'tap'
import { buildGateway, echo } from '../helpers/build-gateway.ts'
import { openPolling } from '../helpers/open-polling.ts'
import { RawClient } from '../helpers/raw-client.ts'

t.setTimeout(60_000)

const FLOOD = 2_000
const LIMIT = 50
/** Between the packets of a polled body. */
const SEPARATOR = '\u001E'
const authenticate: GatewayOptions['authenticate'] = () => null
const isTooMany = (text: string) => text.includes('GTW_ERR_TOO_MANY_EVENTS')

/** What a client is sent in answer to a flood, which must end it. */
async function flood(client: RawClient, packet: (index: number) => string): Promise<string[]> {
  const before = client.received.length
  const closed = once(client.ws, 'close')
  for (let sent = 0; sent < FLOOD; sent++) client.send(packet(sent))
  await closed
  return client.received.slice(before)
}

t.test('handshakes with unknown namespaces count', async (t) => {
  const { origin } = await buildGateway(t, { options: { authenticate } })
  const outside = await RawClient.open(origin)
  const answers = await flood(outside, (index) => `40/${index},`)
  t.equal(answers.filter((text) => text.includes('Invalid namespace')).length, LIMIT)
  t.match(answers.at(-1), /^44\/50,.*GTW_ERR_TOO_MANY_EVENTS/)
})

t.test('all packets count on a connection in the namespace', async (t) => {
  const { origin } = await buildGateway(t, { runnables: [echo] })
  const floods: Record<string, (index: number) => string> = {
    'handshakes with namespaces that are not there': (index) => `40/${index},`,
    'events of no name': () => '42[1]',
    'acknowledgements of nothing': (index) => `43${index}[]`,
    'leaving a namespace that it is not in': (index) => `41/${index},`,
    'messages that Socket.IO does not know': () => '6'
  }
  for (const [what, packet] of Object.entries(floods)) {
    const client = await RawClient.connect(origin)
    const answers = await flood(client, packet)
    t.ok(answers.length <= LIMIT + 2, `${what}: ${answers.length} answers`)
  }
})

t.test('handshakes are few, however many other packets are allowed', async (t) => {
  const { origin } = await buildGateway(t, { options: { limits: { eventsPerSecond: 10_000 } } })
  for (const client of [await RawClient.open(origin), await RawClient.connect(origin)]) {
    const answers = await flood(client, (index) => `40/${index},`)
    t.ok(answers.length <= 62, `${answers.length} answers`)
    t.ok(answers.some(isTooMany))
  }
})

t.test('refused handshakes count until one succeeds', async (t) => {
  const { origin } = await buildGateway(t, { options: { authenticate } })
  const client = await RawClient.open(origin)
  for (let index = 0; index < LIMIT; index++) {
    client.send('40')
    await client.until(() => client.received.length === index + 2)
  }
  t.notOk(client.closed)
  client.send('40')
  t.ok(await client.until(isTooMany))
  await client.untilClosed()
})

t.test('one polled body with too many events: only the limit is read', async (t) => {
  const { origin } = await buildGateway(t)
  const { url, post } = await openPolling(origin)
  await post('40')
  await (await fetch(url)).text()
  await post(Array.from({ length: FLOOD }, () => '42["x"]').join(SEPARATOR))
  const answers = (await (await fetch(url)).text()).split(SEPARATOR)
  t.equal(answers.filter((text) => text.includes('GTW_ERR_UNKNOWN_EVENT')).length, LIMIT)
  t.match(answers.slice(LIMIT), [/GTW_ERR_TOO_MANY_EVENTS/, '41'])
})

t.test('an event beyond the limit is acknowledged with the error', async (t) => {
  const { connect } = await buildGateway(t, { options: { limits: { eventsPerSecond: 2 } } })
  const client = await connect()
  const cancel = () => client.emitWithAck('run.cancel', { runId: 'none' })
  t.match(await cancel(), { code: 'RUN_ERR_NOT_FOUND' })
  t.match(await cancel(), { code: 'RUN_ERR_NOT_FOUND' })
  t.match(await cancel(), { code: 'GTW_ERR_TOO_MANY_EVENTS' })
})

t.test('a client that sends without reading is disconnected', async (t) => {
  const { origin } = await buildGateway(t, { options: { limits: { eventsPerSecond: 10_000 } } })
  const { url, post } = await openPolling(origin)
  await post('40')
  const events = Array.from({ length: 900 }, () => '42["x"]').join(SEPARATOR)
  for (const body of [events, events, '42["x"]']) await post(body)
  t.ok(isTooMany(await (await fetch(url)).text()))
})

t.test('packets to the app’s own namespaces are not counted', async (t) => {
  const { origin, app } = await buildGateway(t, { options: { namespace: '/agents' } })
  let taken = 0
  app.io.of('/uploads').on('connection', (socket) => {
    socket.on('file', (file: Buffer, ack: (size: number) => void) => {
      taken++
      ack(file.length)
    })
  })
  const client = await RawClient.connect(origin, '/uploads,')
  const file = Buffer.alloc(10_000)
  for (let sent = 0; sent < 200; sent++) {
    client.send(`451-/uploads,${sent}["file",{"_placeholder":true,"num":0}]`)
    client.send(file)
  }
  t.match(await client.until((text) => text.startsWith('43/uploads,199')), '43/uploads,199[10000]')
  t.equal(taken, 200)
  const answers = await flood(client, (index) => `40/${index},`)
  t.match(answers.at(-1), isTooManyFor('/50'), 'other namespaces are')
})

function isTooManyFor(namespace: string): RegExp {
  return new RegExp(`^44${namespace},.*GTW_ERR_TOO_MANY_EVENTS`)
}
