import t from 'tap'
import { buildGateway, echo, Inbox, untilDisconnected } from '../helpers/build-gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'

t.setTimeout(60_000)

const PAYLOAD = 1_000
const options = { limits: { payload: PAYLOAD } }
const TOO_LARGE = { error: 'The message is too large', code: 'GTW_ERR_PAYLOAD_TOO_LARGE' }
const large = { name: 'echo', input: 'x'.repeat(PAYLOAD) }

t.test(
  'a run whose message is too large: its acknowledgement and an event say so, then a disconnect',
  async (t) => {
    const { connect, runs } = await buildGateway(t, { runnables: [echo], options })
    for (const transport of ['websocket', 'polling']) {
      const client = await connect({ transports: [transport] })
      const inbox = new Inbox(client)
      const gone = untilDisconnected(client)
      t.strictSame(await client.emitWithAck('agent.run', large), TOO_LARGE, transport)
      t.equal(await gone, 'io server disconnect')
      t.strictSame(inbox.all, [{ event: 'agent.error', ...TOO_LARGE }])
    }
    t.equal((await runs.list({ limit: 1 })).runs.length, 0)
  }
)

t.test('any other event: `gateway.error`, then a disconnect', async (t) => {
  const { connect } = await buildGateway(t, { options })
  const client = await connect()
  const inbox = new Inbox(client)
  const gone = untilDisconnected(client)
  client.emit('run.cancel', { runId: 'x'.repeat(PAYLOAD) })
  t.equal(await gone, 'io server disconnect')
  t.strictSame(inbox.all, [{ event: 'gateway.error', ...TOO_LARGE }])
})

t.test('the same holds for other packets and binary ones', async (t) => {
  const { origin } = await buildGateway(t, { options })
  for (const message of [`43["${'x'.repeat(PAYLOAD)}"]`, Buffer.alloc(PAYLOAD + 1)]) {
    const client = await RawClient.connect(origin)
    client.send(message)
    await client.untilClosed()
    t.strictSame(client.received.slice(-2), [`42${JSON.stringify(['gateway.error', TOO_LARGE])}`, '41'])
  }
})

t.test('events before it are handled', async (t) => {
  const { connect } = await buildGateway(t, { runnables: [echo], options })
  const client = await connect()
  const inbox = new Inbox(client)
  client.emit('run.watch', {} as never)
  client.emit('agent.run', large)
  await untilDisconnected(client)
  t.match(inbox.all, [{ code: 'GTW_ERR_BAD_PAYLOAD' }, { code: TOO_LARGE.code }])
})

t.test('twice the limit closes without an event: 1009 on a WebSocket, 413 over polling', async (t) => {
  const { origin, connect } = await buildGateway(t, { options })
  const client = await RawClient.connect(origin)
  client.send(`42["x","${'x'.repeat(2 * PAYLOAD)}"]`)
  await client.untilClosed()
  t.equal(client.closeCode, 1009)
  t.equal(client.received.length, 2)

  const polling = await connect({ transports: ['polling'] })
  const failed = new Promise<{ context: { status: number } }>((resolve) =>
    polling.io.engine.once('error' as never, resolve as never)
  )
  polling.emit('run.cancel', { runId: 'x'.repeat(2 * PAYLOAD) })
  t.equal((await failed).context.status, 413)
})
