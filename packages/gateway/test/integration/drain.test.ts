import gateway from '@svc/gateway'
import registryPlugin, {
  createInProcessStores,
  createRegistry,
  defineRunnable,
  type RunContext,
  type RunnableKind
} from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import Fastify from 'fastify'
import { io } from 'socket.io-client'
import t from 'tap'
import { buildGateway, Inbox, textOf, untilDisconnected, type Client } from '../helpers/build-gateway.ts'

// As `Fastify()` has it.
const plain = { forceCloseConnections: 'idle' } as const

const ask = async ({ approvals }: RunContext) =>
  approvals.request({ toolCallId: 'c', toolName: 'send', args: {} })

/** A runnable that waits for an approval, and goes on after a restart. */
const resumable = (kind: RunnableKind, name: string) =>
  defineRunnable({
    kind,
    name,
    resumable: true,
    async *stream(_input, context) {
      yield { type: 'text', text: await context.step('first', () => 'begun') }
      yield { type: 'text', text: (await ask(context)).approved ? ' yes' : ' no' }
    }
  })
const flow = resumable('workflow', 'flow')

const start = async (
  client: Client,
  event: 'agent.run' | 'workflow.run',
  name: string,
  more: { onDisconnect?: 'continue'; sessionId?: string } = {}
): Promise<string> => {
  const answer = await client.emitWithAck(event, { name, input: 'Go', ...more })
  return 'error' in answer ? answer.error : answer.runId
}

t.test('while it drains, sockets watch, cancel and approve; new runs are refused', async (t) => {
  const gate = Promise.withResolvers<void>()
  const held = scriptedRunnable(
    [{ type: 'text', text: 'begun' }, () => gate.promise, { type: 'text', text: ' done' }],
    { name: 'held' }
  )
  const asking = scriptedRunnable([ask, { type: 'text', text: 'on it goes' }], { name: 'asking' })
  const runnables = [held, asking, scriptedRunnable([600_000])]
  const { app, connect } = await buildGateway(t, {
    runnables,
    fastify: plain,
    engine: { drainTimeout: 60_000 }
  })
  const client = await connect()
  const inbox = new Inbox(client)
  const watched = await start(client, 'agent.run', 'held')
  const canceled = await start(client, 'agent.run', 'scripted')
  const asked = await start(client, 'agent.run', 'asking')
  const { approvalId } = await inbox.first('agent.approval')
  const closed = app.close()
  while (!app.runs.draining) await new Promise(setImmediate)

  t.match(await client.emitWithAck('agent.run', { name: 'held', input: 'Go' }), { code: 'RUN_ERR_DRAINING' })
  t.match(await inbox.first('agent.error'), { code: 'RUN_ERR_DRAINING', runId: undefined })
  for (const transports of [['websocket'], ['polling']]) {
    const other = await connect({ transports })
    const otherInbox = new Inbox(other)
    t.same(await other.emitWithAck('run.watch', { runId: watched }), { status: 'working' })
    t.match(await otherInbox.first('agent.chunk'), { chunk: 'begun', runId: watched })
    other.disconnect()
  }
  const late = await connect()
  t.same(await late.emitWithAck('run.cancel', { runId: canceled }), { ok: true })
  t.same(await late.emitWithAck('approval.answer', { approvalId: String(approvalId), approved: true }), {
    ok: true
  })
  t.match((await inbox.untilEnd(asked)).at(-1), { event: 'agent.done' })
  t.match((await inbox.untilEnd(canceled)).at(-1), { output: { finishReason: 'canceled' } })

  const gone = [client, late].map(untilDisconnected)
  gate.resolve()
  t.match((await inbox.untilEnd(watched)).at(-1), { event: 'agent.done', output: { text: 'begun done' } })
  t.same(await Promise.all(gone), ['io server disconnect', 'io server disconnect'])
  await closed
})

t.test('a socket that connects while the app closes does not hold it', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registryPlugin, { registry: createRegistry() })
  await app.register(gateway)
  // After that of the gateway, which has closed its sockets: the server still listens.
  app.addHook('preClose', async () => {
    const late = io(origin, { transports: ['websocket'], forceNew: true, reconnection: false })
    t.teardown(() => late.disconnect())
    await new Promise<void>((resolve) => {
      late.once('disconnect', () => resolve())
      late.once('connect_error', () => resolve())
    })
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  await app.close()
})

t.test(
  'a socket learns that its workflow is suspended, and gets the rest from the next process',
  async (t) => {
    const request = { runnables: [flow], fastify: plain, engine: { stores: createInProcessStores() } }
    const first = await buildGateway(t, request)
    const client = await first.connect()
    const inbox = new Inbox(client)
    const runId = await start(client, 'workflow.run', 'flow')
    const { approvalId, seq } = await inbox.first('workflow.approval')
    const watcher = await first.connect()
    const watched = new Inbox(watcher)
    t.same(await watcher.emitWithAck('run.watch', { runId, after: seq }), { status: 'input-required' })
    const gone = untilDisconnected(client)
    await first.app.close()
    await gone
    t.same(inbox.of(runId).at(-1), { event: 'run.suspended', runId, seq })
    t.same(watched.all, [{ event: 'run.suspended', runId, seq }])

    const second = await buildGateway(t, request)
    const next = await second.connect()
    const rest = new Inbox(next)
    t.same(await next.emitWithAck('run.watch', { runId, after: seq }), { status: 'input-required' })
    t.same(await next.emitWithAck('approval.answer', { approvalId: String(approvalId), approved: true }), {
      ok: true
    })
    const events = await rest.untilEnd(runId)
    t.match(textOf(events), / yes$/)
    t.match(events.at(-1), { event: 'workflow.done' })
    t.ok(events.every((event) => event.seq > seq))
  }
)

t.test('a socket that watches again before it is disconnected is not told twice', async (t) => {
  const stores = createInProcessStores()
  const gate = Promise.withResolvers<void>()
  let held = ''
  const read: typeof stores.log.read = (runId, ...rest) =>
    runId === held
      ? gate.promise.then(() => stores.log.read(runId, ...rest))
      : stores.log.read(runId, ...rest)
  const engine = { stores: { ...stores, log: { ...stores.log, read } } }
  const { app, connect } = await buildGateway(t, {
    runnables: [resumable('agent', 'asking')],
    fastify: plain,
    engine
  })
  const sessionId = 's'
  const [client, other] = [await connect(), await connect()]
  const [inbox, others] = [new Inbox(client), new Inbox(other)]
  const runId = await start(client, 'agent.run', 'asking', { onDisconnect: 'continue', sessionId })
  await inbox.first('agent.approval')
  // Another socket still awaits events, so that none is disconnected yet.
  const awaited = await start(other, 'agent.run', 'asking', { onDisconnect: 'continue' })
  await others.first('agent.approval')
  held = awaited
  const closed = app.close()
  const { seq } = await inbox.first('run.suspended')
  t.match(await client.emitWithAck('run.watch', { runId, after: seq }), { code: 'RUN_ERR_DRAINING' })
  const session = { kind: 'agent', name: 'asking', sessionId } as const
  t.match(await client.emitWithAck('session.watch', session), { code: 'RUN_ERR_DRAINING' })
  gate.resolve()
  await closed
  t.equal(inbox.of(runId).filter(({ event }) => event === 'run.suspended').length, 1)
  t.equal(others.of(awaited).filter(({ event }) => event === 'run.suspended').length, 1)
})
