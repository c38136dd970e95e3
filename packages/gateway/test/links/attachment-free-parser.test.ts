import t from 'tap'
import { buildGateway, echo } from '../helpers/build-gateway.ts'
import { RawClient } from '../helpers/raw-client.ts'

t.setTimeout(60_000)

const FILE = Buffer.alloc(990_000)
const isAck = (id: number) => (text: string) => text.startsWith(`43${id}[`)

t.test(
  'an event with attachments is refused before they come; they are dropped, and the socket stays',
  async (t) => {
    const { origin } = await buildGateway(t, { runnables: [echo] })
    const client = await RawClient.connect(origin)
    for (const [index, count] of [1, 10].entries()) {
      client.send(`45${count}-${index}["agent.run",{"name":"echo","input":{"_placeholder":true,"num":0}}]`)
      t.match(await client.until(isAck(index)), /GTW_ERR_BAD_PAYLOAD/)
      for (let sent = 0; sent < count; sent++) client.send(FILE)
    }
    client.send('42100["agent.run",{"name":"echo","input":"Hi"}]')
    t.match(await client.until(isAck(100)), /runId/)
    client.end()
  }
)

t.test('the same holds for handwritten packets', async (t) => {
  const { connect } = await buildGateway(t, { runnables: [echo] })
  for (const transport of ['websocket', 'polling']) {
    const client = await connect({ transports: [transport] })
    const input = { file: FILE.subarray(0, 500_000), more: [FILE.subarray(0, 10)] } as never
    const binary = await client.emitWithAck('agent.run', { name: 'echo', input })
    t.match(binary, { code: 'GTW_ERR_BAD_PAYLOAD', error: /binary/ })
    t.match(await client.emitWithAck('agent.run', { name: 'echo', input: 'Hi' }), { runId: /./ })
  }
})

t.test('an event instead of an announced attachment ends the connection', async (t) => {
  const { origin } = await buildGateway(t)
  const client = await RawClient.connect(origin)
  client.send('452-["agent.run"]')
  client.send(FILE)
  client.send('42["x"]')
  await client.untilClosed()
})

t.test('other namespaces of the app receive attachments', async (t) => {
  const { origin, app } = await buildGateway(t, { options: { namespace: '/agents' } })
  app.io.on('connection', (socket) => {
    socket.on('file', (file: Buffer, ack: (size: number) => void) => ack(file.length))
  })
  const client = await RawClient.connect(origin)
  client.send('451-7["file",{"_placeholder":true,"num":0}]')
  client.send(FILE)
  t.equal(await client.until(isAck(7)), '437[990000]')
  client.end()
})
