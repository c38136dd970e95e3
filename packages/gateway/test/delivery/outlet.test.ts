import { scriptedRunnable } from '@svc/testing'
import { Server, type ServerOptions } from 'socket.io'
import t from 'tap'
import { buildGateway, Inbox, textOf, type Client, type TestGateway } from '../helpers/build-gateway.ts'
import { jsonParser } from '../helpers/json-parser.ts'

const TEXTS = Array.from({ length: 20 }, (_, index) => `word ${index}, é "quoted"; `)
const ANSWER = TEXTS.join('')
const sayer = scriptedRunnable(
  TEXTS.map((text) => ({ type: 'text', text }) as const),
  { name: 'sayer' }
)

/** Runs the agent and returns its events. */
async function ask(client: Client) {
  const inbox = new Inbox(client)
  const answer = await client.emitWithAck('agent.run', { name: 'sayer', input: 'Go' })
  return inbox.untilEnd((answer as { runId: string }).runId)
}

/** A gateway on a Socket.IO server of the app. */
async function buildOnOwn(
  t: Parameters<typeof buildGateway>[0],
  own: Partial<ServerOptions>,
  namespace = '/'
): Promise<TestGateway & { io: Server }> {
  const io = new Server(own)
  const options = { io, namespace }
  const built = await buildGateway(t, {
    runnables: [sayer],
    options,
    before: (app) => void io.attach(app.server)
  })
  t.teardown(() => io.close())
  return { ...built, io }
}

t.test('what a run says in one turn of the event loop is one write', async (t) => {
  const { connect, app } = await buildGateway(t, { runnables: [sayer] })
  const client = await connect()
  // The first run of a socket opens its outlet.
  await ask(client)
  const [socket] = [...app.io.sockets.sockets.values()]
  const { transport } = socket!.conn as unknown as {
    transport: { socket: { _socket: { _writeGeneric(...args: unknown[]): void } } }
  }
  const { _socket: tcp } = transport.socket
  let writes = 0
  const { _writeGeneric: write } = tcp
  Object.assign(tcp, {
    _writeGeneric(...args: unknown[]) {
      writes++
      write.apply(tcp, args)
    }
  })
  const events = await ask(client)
  t.equal(textOf(events), ANSWER)
  t.equal(events.length, TEXTS.length + 1, 'each text is an event')
  t.equal(writes, 2, 'the acknowledgement before it, so that clients have it before the first event')
})

t.test('listeners for outgoing events get them all', async (t) => {
  const { connect, app } = await buildGateway(t, { runnables: [sayer] })
  const sent: [string, ...unknown[]][] = []
  app.io.on('connection', (socket) => {
    socket.onAnyOutgoing((event: string, ...payload: unknown[]) => void sent.push([event, ...payload]))
  })
  const client = await connect()
  const got: [string, ...unknown[]][] = []
  client.onAny((event: string, ...payload: unknown[]) => void got.push([event, ...payload]))
  const events = await ask(client)
  t.equal(events.length, TEXTS.length + 1)
  t.strictSame(sent, got)
})

for (const transports of [['polling'], ['polling', 'websocket'], ['websocket']])
  t.test(`the same by ${transports.join(' and then ')}`, async (t) => {
    const { connect } = await buildGateway(t, { runnables: [sayer] })
    const client = await connect({ transports })
    const runs = await Promise.all([1, 2, 3].map(() => ask(client)))
    for (const events of runs) {
      t.equal(textOf(events), ANSWER)
      t.strictSame(
        events.map(({ seq }) => seq),
        Array.from({ length: TEXTS.length + 1 }, (_, index) => index + 2)
      )
    }
  })

t.test('compressed messages arrive', async (t) => {
  const { connect } = await buildOnOwn(t, { perMessageDeflate: { threshold: 10 } })
  t.equal(textOf(await ask(await connect())), ANSWER)
})

t.test('a parser of the app encodes all events', async (t) => {
  const { connect } = await buildOnOwn(t, { parser: jsonParser })
  t.equal(textOf(await ask(await connect({ parser: jsonParser }))), ANSWER)
})

t.test('sockets of other namespaces share the connection', async (t) => {
  const { connect, io } = await buildOnOwn(t, {}, '/agents')
  io.of('/news').on('connection', (socket) => {
    socket.on('ask', (ack: (answer: string) => void) => ack('news'))
  })
  const agents = await connect({ forceNew: false })
  const news = agents.io.socket('/news')
  news.connect()
  t.teardown(() => news.disconnect())
  t.equal(await news.emitWithAck('ask'), 'news')
  t.equal(textOf(await ask(agents)), ANSWER)
  // The server ends one of them.
  const left = new Promise((resolve) => agents.once('disconnect', resolve))
  const [served] = [...io.of('/agents').sockets.values()]
  served!.emit('last')
  served!.disconnect()
  await left
  t.equal(await news.emitWithAck('ask'), 'news', 'the connection stays')
})

t.test('a volatile event in the same turn does not hold back others', async (t) => {
  const { connect, app } = await buildGateway(t, { runnables: [sayer] })
  const client = await connect()
  await ask(client)
  const [socket] = [...app.io.sockets.sockets.values()]
  const got: string[] = []
  client.onAny((event: string) => void got.push(event))
  const last = new Promise((resolve) => client.once('last' as never, resolve as never))
  socket!.volatile.emit('first')
  socket!.emit('second')
  socket!.emit('last')
  await last
  t.strictSame(got, ['first', 'second', 'last'])
})

t.test('sockets that follow one run get the same events, each as it asked', async (t) => {
  const gate = Promise.withResolvers<void>()
  const gated = scriptedRunnable(
    [async () => gate.promise, ...TEXTS.map((text) => ({ type: 'text', text }) as const)],
    { name: 'sayer' }
  )
  const { connect, runs, registry } = await buildGateway(t, { runnables: [gated] })
  const { runId } = await runs.start(registry.get('agent', 'sayer')!, 'Go')
  const asked = [{}, { parts: true }, {}, { parts: true }]
  const watching = await Promise.all(
    asked.map(async (how) => {
      const client = await connect()
      const inbox = new Inbox(client)
      await client.emitWithAck('run.watch', { runId, ...how })
      return inbox
    })
  )
  gate.resolve()
  const [first, second, ...others] = await Promise.all(watching.map((inbox) => inbox.untilEnd(runId)))
  t.equal(textOf(first!), ANSWER)
  t.equal(first!.length, TEXTS.length + 1)
  t.ok(second!.length > first!.length && second!.some(({ event }) => event === 'agent.part'))
  t.strictSame(others, [first, second])
})
