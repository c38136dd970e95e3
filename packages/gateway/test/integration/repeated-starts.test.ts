import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { RunnableKind } from '@svc/registry'
import { pause, scriptedRunnable } from '@svc/testing'
import type { Socket } from 'socket.io'
import t from 'tap'
import { buildGateway, Inbox, type Client } from '../helpers/build-gateway.ts'

interface Started {
  runId: string
  replayed?: true
}

const KINDS: RunnableKind[] = ['agent', 'team', 'workflow']
const greeter = KINDS.map((kind) =>
  scriptedRunnable([{ type: 'text', text: 'Hello' }], { kind, name: 'greeter' })
)
const slow = scriptedRunnable([{ type: 'text', text: 'begun' }, ({ signal }) => pause(60_000, signal)], {
  name: 'slow'
})

/** Drops the first acknowledgements that a client is to get. */
function dropAcks(client: Client, count: number): void {
  const { onack } = client as unknown as { onack: (packet: object) => void }
  let left = count
  Object.assign(client, { onack: (packet: object) => (left-- > 0 ? undefined : onack.call(client, packet)) })
}

t.test('a client with retries starts one run, however many acknowledgements get lost', async (t) => {
  const { connect, runs } = await buildGateway(t, { runnables: greeter })
  for (const kind of KINDS) {
    const client = await connect({ retries: 3, ackTimeout: 300 })
    const inbox = new Inbox(client)
    dropAcks(client, 2)
    const payload = { name: 'greeter', input: 'Go', idempotencyKey: 'k' }
    const { runId, replayed } = (await client.emitWithAck(`${kind}.run`, payload)) as Started
    t.equal(replayed, true)
    const events = await inbox.untilEnd(runId)
    const all = await runs.list({ kind, limit: 10 })
    t.strictSame(
      all.runs.map((run) => run.runId),
      [runId],
      'there is one run'
    )
    await client.emitWithAck(`${kind}.run`, payload)
    t.equal(inbox.all.filter((event) => event.runId === runId).length, events.length, 'no event came twice')
    client.close()
  }
})

t.test('a key is of its caller, its runnable and its payload; without one each event is a run', async (t) => {
  const { connect, runs } = await buildGateway(t, {
    runnables: greeter,
    options: { authenticate: ({ token }) => (token === undefined ? null : { sub: token, scopes: ['*'] }) }
  })
  const start = async (client: Client, more: object = {}, kind: RunnableKind = 'agent') =>
    (await client.emitWithAck(`${kind}.run`, { name: 'greeter', input: 'Go', ...more })) as Started
  const [ann, other, bob] = [
    await connect({ auth: { token: 'ann' } }),
    await connect({ auth: { token: 'ann' } }),
    await connect({ auth: { token: 'bob' } })
  ]
  const idempotencyKey = 'k'
  const first = await start(ann, { idempotencyKey })
  t.strictSame(await start(other, { idempotencyKey }), { runId: first.runId, replayed: true })
  t.strictSame(
    await start(other, { idempotencyKey, apiKey: 'sk-1', parts: true }),
    { runId: first.runId, replayed: true },
    'the key of a provider and what is sent may differ'
  )
  t.not((await start(bob, { idempotencyKey })).runId, first.runId)
  t.not((await start(ann, { idempotencyKey }, 'team')).runId, first.runId)
  t.match(await start(ann, { idempotencyKey, input: 'Another' }), { code: 'RUN_ERR_KEY_REUSED' })
  for (const bad of ['', 'ä', 'x'.repeat(256), 5])
    t.match(await start(ann, { idempotencyKey: bad }), { code: 'GTW_ERR_BAD_PAYLOAD' })
  t.not((await start(ann)).runId, (await start(ann)).runId)
  t.equal((await runs.list({ limit: 10 })).runs.length, 5)
})

t.test('a repetition over a new connection keeps the run, and follows it from its start', async (t) => {
  const { connect, runs, app } = await buildGateway(t, {
    runnables: [slow],
    options: { reconnectGrace: 200 }
  })
  const payload = { name: 'slow', input: 'Go', idempotencyKey: 'k' }
  const lost = await connect()
  const { runId } = (await lost.emitWithAck('agent.run', payload)) as Started
  const gone = Promise.all(
    Array.from(app.io.of('/').sockets.values(), (socket: Socket) => once(socket, 'disconnect'))
  )
  lost.close()
  await gone
  const client = await connect()
  const inbox = new Inbox(client)
  t.strictSame(await client.emitWithAck('agent.run', payload), { runId, replayed: true })
  t.match(await inbox.first('agent.chunk'), { runId, chunk: 'begun' })
  // Longer than the socket that left has to come back.
  await wait(400)
  t.match(await runs.find(runId), { status: 'working' }, 'its socket is back')
  client.close()
  for await (const part of runs.parts(runId))
    if (part.type === 'finish') t.equal(part.finishReason, 'canceled')
})
