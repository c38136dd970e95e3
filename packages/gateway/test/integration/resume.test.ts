import { setTimeout as wait } from 'node:timers/promises'
import type { GatewayOptions } from '@svc/gateway'
import { scriptedRunnable, type ScriptedAct } from '@svc/testing'
import t from 'tap'
import {
  buildGateway,
  Inbox,
  type Client,
  type Received,
  type TestGateway
} from '../helpers/build-gateway.ts'
import { random } from '../helpers/random.ts'

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const CUTS = Number(process.env['CUTS'] ?? 500)
const PARTS = 120

t.setTimeout(80_000)

const counting = scriptedRunnable(
  Array.from({ length: PARTS }, (_, index): ScriptedAct[] => [
    // From different sources, so that they are not joined while no client follows.
    { type: 'text', text: `${index} `, source: [`${index % 2}`] },
    ...(index % 10 === 0 ? [1] : [])
  ]).flat(),
  { name: 'counting' }
)

t.test(
  `cut at ${CUTS} random moments, a client has every part once and in order; SEED=${SEED}`,
  async (t) => {
    const gateway = await buildGateway(t, { runnables: [counting] })
    const next = random(SEED)
    let cuts = 0
    while (cuts < CUTS) {
      const clients = Array.from({ length: 10 }, () => followThroughCuts(gateway, next))
      for (const { events, cut } of await Promise.all(clients)) {
        cuts += cut
        const seqs = events.map(({ seq }) => seq)
        const expected = Array.from({ length: PARTS + 1 }, (_, index) => index + 2)
        if (seqs.join() !== expected.join()) t.strictSame(seqs, expected)
      }
    }
    t.ok(cuts >= CUTS, `${cuts} cuts`)
  }
)

/** Starts a run, loses the connection again and again, and goes on after the last event that came. */
async function followThroughCuts(gateway: TestGateway, next: () => number) {
  const transports = () => (next() < 0.7 ? ['websocket'] : ['polling'])
  let client = await gateway.connect({ transports: transports() })
  const events: Received[] = []
  let inbox = new Inbox(client)
  const { runId } = (await client.emitWithAck('agent.run', { name: 'counting', input: 'Go' })) as {
    runId: string
  }
  let cut = 0
  for (;;) {
    const moment = wait(next() * 12).then(() => 'cut')
    const end = inbox.untilEnd(runId).then(() => 'end')
    const first = cut < 20 ? await Promise.race([moment, end]) : await end
    events.push(...inbox.of(runId))
    if (first === 'end') break
    breakConnection(client, next())
    cut++
    client = await gateway.connect({ transports: transports() })
    inbox = new Inbox(client)
    await client.emitWithAck('run.watch', { runId, after: events.at(-1)?.seq ?? 0 })
  }
  client.disconnect()
  return { events, cut }
}

// By a goodbye, or without one.
function breakConnection(client: Client, how: number): void {
  client.offAny()
  if (how < 0.5) client.disconnect()
  else client.io.engine.close()
}

t.test('watch: from the start, after a part, after the end, and again on the same socket', async (t) => {
  const { connect, runs } = await buildGateway(t, { runnables: [counting] })
  const run = await runs.start(counting, 'Go')
  await run.result()
  const client = await connect()
  const inbox = new Inbox(client)
  t.strictSame(await client.emitWithAck('run.watch', { runId: run.runId }), { status: 'completed' })
  t.equal((await inbox.untilEnd(run.runId)).length, PARTS + 1)

  inbox.all.length = 0
  await client.emitWithAck('run.watch', { runId: run.runId, after: PARTS })
  t.strictSame(
    (await inbox.untilEnd(run.runId)).map(({ seq }) => seq),
    [PARTS + 1, PARTS + 2]
  )

  inbox.all.length = 0
  const ack = await client.emitWithAck('run.watch', { runId: run.runId, after: PARTS + 2 })
  t.strictSame(ack, { status: 'completed' }, 'there is nothing after the last part')
  t.match(await client.emitWithAck('run.watch', { runId: run.runId, after: PARTS + 3 }), {
    code: 'RUN_ERR_LOG_GONE'
  })
  t.match(await client.emitWithAck('run.watch', { runId: 'none' }), { code: 'RUN_ERR_NOT_FOUND' })
  t.strictSame(inbox.all, [])
})

const endless = scriptedRunnable([{ type: 'text', text: 'begun' }, 60_000], { name: 'endless' })
const GRACE = 60
const options = { reconnectGrace: GRACE }

async function begin(gateway: TestGateway, more: object = {}) {
  const client = await gateway.connect()
  const payload = { name: 'endless', input: 'Go', ...more }
  const { runId } = (await client.emitWithAck('agent.run', payload)) as { runId: string }
  const statusOf = async () => (await gateway.runs.get(runId))?.status
  return { client, runId, statusOf }
}

t.test('a disconnect cancels the socket’s runs after the grace period', async (t) => {
  const gateway = await buildGateway(t, { runnables: [endless], options })
  const { client, statusOf } = await begin(gateway)
  client.disconnect()
  await wait(GRACE / 3)
  t.equal(await statusOf(), 'working', 'not at once')
  await wait(GRACE * 2)
  t.equal(await statusOf(), 'canceled')
})

t.test('runs with onDisconnect: continue are kept', async (t) => {
  const gateway = await buildGateway(t, { runnables: [endless], options })
  const { client, statusOf } = await begin(gateway, { onDisconnect: 'continue' })
  client.disconnect()
  await wait(GRACE * 3)
  t.equal(await statusOf(), 'working')
})

t.test('a watching owner keeps the run until that socket leaves too', async (t) => {
  const gateway = await buildGateway(t, { runnables: [endless], options })
  for (const when of ['before', 'after']) {
    const { client, runId, statusOf } = await begin(gateway)
    const other = await gateway.connect()
    if (when === 'before') await other.emitWithAck('run.watch', { runId })
    client.disconnect()
    if (when === 'after') await other.emitWithAck('run.watch', { runId })
    await wait(GRACE * 3)
    t.equal(await statusOf(), 'working', `watched ${when}`)
    other.disconnect()
    await wait(GRACE * 3)
    t.equal(await statusOf(), 'canceled', 'nobody is left')
  }
})

t.test('a watcher of another owner’s run does not keep it', async (t) => {
  const authenticate: GatewayOptions['authenticate'] = ({ token = '' }) => ({
    sub: token,
    scopes: token === 'admin' ? ['admin:*'] : []
  })
  const { connect, runs } = await buildGateway(t, {
    runnables: [endless],
    options: { ...options, authenticate }
  })
  const [ann, admin] = [
    await connect({ auth: { token: 'ann' } }),
    await connect({ auth: { token: 'admin' } })
  ]
  const start = async () => {
    const answer = await ann.emitWithAck('agent.run', { name: 'endless', input: 'Go' })
    return (answer as { runId: string }).runId
  }
  const [watched, unwatched] = [await start(), await start()]
  t.strictSame(await admin.emitWithAck('run.watch', { runId: watched }), { status: 'working' })
  ann.disconnect()
  // It ends after the other.
  for await (const _ of runs.parts(unwatched));
  t.match(await runs.get(watched), { owner: 'ann', status: 'canceled' })
  t.ok(admin.connected)
})

t.test('a watcher never cancels by leaving', async (t) => {
  const gateway = await buildGateway(t, { runnables: [endless], options })
  const run = await gateway.runs.start(endless, 'Go')
  const { statusOf: statusOfOwn, runId, client } = await begin(gateway)
  const watcher = await gateway.connect()
  await watcher.emitWithAck('run.watch', { runId: run.runId })
  await watcher.emitWithAck('run.watch', { runId })
  watcher.disconnect()
  await wait(GRACE * 3)
  t.equal((await gateway.runs.get(run.runId))?.status, 'working', 'not started on a socket')
  t.equal(await statusOfOwn(), 'working', 'whose own socket is there')
  t.ok(client.connected)
})

t.test('a socket that leaves while its run starts counts as left', async (t) => {
  const gateway = await buildGateway(t, {
    runnables: [endless],
    options: {
      ...options,
      authorize: async () => {
        await wait(30)
        return { allowed: true }
      }
    }
  })
  const client = await gateway.connect()
  client.emit('agent.run', { name: 'endless', input: 'Go' })
  await wait(10)
  client.disconnect()
  await wait(60 + GRACE * 2)
  const { runs } = await gateway.runs.list({ limit: 10 })
  t.strictSame(
    runs.map(({ status }) => status),
    ['canceled']
  )
})
