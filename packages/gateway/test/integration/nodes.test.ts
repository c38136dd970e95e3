import type { GatewayOptions } from '@svc/gateway'
import { createTestCluster, scriptedRunnable } from '@svc/testing'
import t, { type Test } from 'tap'
import { buildGateway, type Client, type TestGateway } from '../helpers/build-gateway.ts'

const endless = scriptedRunnable([{ type: 'text', text: 'begun' }, 600_000], { name: 'endless' })
const authenticate: GatewayOptions['authenticate'] = ({ token = '' }) => ({
  sub: token,
  scopes: token === 'admin' ? ['admin:*'] : []
})
const ann = { auth: { token: 'ann' } }

/** Two nodes of a service. */
async function buildNodes(t: Test, reconnectGrace = 0) {
  const { join } = createTestCluster()
  const build = () =>
    buildGateway(t, {
      runnables: [endless],
      options: { authenticate, reconnectGrace },
      engine: { stores: join().stores }
    })
  return { first: await build(), second: await build() }
}

async function start(client: Client): Promise<string> {
  const answer = await client.emitWithAck('agent.run', { name: 'endless', input: 'Go' })
  return (answer as { runId: string }).runId
}

const untilEnd = async ({ runs }: TestGateway, runId: string) => {
  for await (const _ of runs.parts(runId));
  return (await runs.find(runId))?.status
}

t.test('a watching owner keeps a run of another node until that socket leaves too', async (t) => {
  const { first, second } = await buildNodes(t)
  const [client, watcher] = [await first.connect(ann), await second.connect(ann)]
  const [watched, unwatched] = [await start(client), await start(client)]
  t.same(await watcher.emitWithAck('run.watch', { runId: watched }), { status: 'working' })
  client.disconnect()
  t.equal(await untilEnd(first, unwatched), 'canceled')
  t.equal((await first.runs.find(watched))?.status, 'working', 'it would have been canceled before')
  watcher.disconnect()
  t.equal(await untilEnd(first, watched), 'canceled', 'no socket is left')
})

t.test('a client that lost its node returns on another within the grace period', async (t) => {
  const { first, second } = await buildNodes(t, 300)
  const client = await first.connect(ann)
  const [watched, unwatched] = [await start(client), await start(client)]
  const left = new Promise((resolve) => {
    for (const socket of first.app.io.sockets.sockets.values()) socket.once('disconnect', resolve)
  })
  client.disconnect()
  await left
  const returned = await second.connect(ann)
  t.same(await returned.emitWithAck('run.watch', { runId: watched }), { status: 'working' })
  t.equal(await untilEnd(first, unwatched), 'canceled')
  t.equal((await first.runs.find(watched))?.status, 'working')
  const again = await first.connect(ann)
  t.same(await again.emitWithAck('run.watch', { runId: watched }), { status: 'working' })
  returned.disconnect()
  again.disconnect()
  t.equal(await untilEnd(second, watched), 'canceled')
})

t.test('on another node, too, a watcher of another owner’s run does not keep it', async (t) => {
  const { first, second } = await buildNodes(t)
  const client = await first.connect(ann)
  const watcher = await second.connect({ auth: { token: 'admin' } })
  const runId = await start(client)
  t.same(await watcher.emitWithAck('run.watch', { runId }), { status: 'working' })
  client.disconnect()
  t.equal(await untilEnd(second, runId), 'canceled')
})

t.test('a watch that cannot be announced is answered, and logged', async (t) => {
  const { stores } = createTestCluster().join()
  const lines: string[] = []
  const control = { ...stores.control, publish: () => Promise.reject(new Error('The bus is down')) }
  const gateway = await buildGateway(t, {
    runnables: [endless],
    engine: { stores: { ...stores, control } },
    fastify: { logger: { level: 'error', stream: { write: (line: string) => void lines.push(line) } } }
  })
  const run = await gateway.runs.start(endless, 'Go')
  const client = await gateway.connect()
  t.same(await client.emitWithAck('run.watch', { runId: run.runId }), { status: 'working' })
  t.match(lines.join(''), 'a watching client could not be announced')
})

t.test('without polling only WebSockets connect', async (t) => {
  const { connect, origin } = await buildGateway(t, { options: { transports: ['websocket'] } })
  const client = await connect()
  t.ok(client.connected)
  await t.rejects(connect({ transports: ['polling'] }))
  t.equal((await fetch(`${origin}/socket.io/?EIO=4&transport=polling`)).status, 400)
})

t.test('an app of several nodes that did not choose its transports is warned of polling', async (t) => {
  const warnings = async (options: GatewayOptions, lease: boolean) => {
    const lines: string[] = []
    const { stores } = createTestCluster().join()
    const { lease: _, ...alone } = stores
    await buildGateway(t, {
      options,
      engine: { stores: lease ? stores : alone },
      fastify: {
        requestTimeout: 1_000,
        logger: { level: 'warn', stream: { write: (line: string) => void lines.push(line) } }
      }
    })
    return lines.filter((line) => line.includes('transports')).length
  }
  t.equal(await warnings({}, true), 1)
  t.equal(await warnings({}, false), 0)
  t.equal(await warnings({ transports: ['websocket'] }, true), 0)
  t.equal(await warnings({ transports: ['polling', 'websocket'] }, true), 0)
})
