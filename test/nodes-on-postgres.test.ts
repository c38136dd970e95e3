import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import a2a from '@svc/a2a'
import gateway from '@svc/gateway'
import http from '@svc/http'
import registryPlugin, { createRegistry, type RunStatus } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import store from '@svc/store'
import { postgresForTests } from '@tools/postgres'
import Fastify, { type FastifyInstance } from 'fastify'
import { Client } from 'pg'
import { io, type Socket } from 'socket.io-client'
import t, { type Test } from 'tap'

const authenticate = async ({ token = 'nobody' }: { token?: string | undefined }) => ({
  sub: token,
  scopes: ['*'],
  claims: {}
})
/** Messages that race on both nodes, in 25s. */
const RACES = Number(process.env['RACES'] ?? 50)
const ann = { authorization: 'Bearer ann' }
const postgres = await postgresForTests(t)
const skip = postgres === undefined && 'no Postgres runs on this machine'

/** Two nodes with every surface, on a schema of their own, and an agent that ends when the test says. */
async function buildNodes(t: Test) {
  const schema = `t_${randomBytes(6).toString('hex')}`
  const admin = new Client(postgres)
  await admin.connect()
  const goOn = Promise.withResolvers<void>()
  const build = async () => {
    const app: FastifyInstance = Fastify({ forceCloseConnections: true })
    await app.register(store, { url: postgres!, schema, lease: { ttl: 10_000, beat: 200 } })
    const registry = createRegistry()
    registry.add(scriptedRunnable([{ type: 'text', text: 'begun' }, () => goOn.promise], { name: 'held' }))
    await app.register(registryPlugin, { registry, authenticate, drainTimeout: 50 })
    await app.register(http, { prefix: '/api', rateLimit: { max: 5, timeWindow: 3_600_000 } })
    await app.register(gateway, { reconnectGrace: 0, transports: ['websocket'] })
    await app.register(a2a, { basePath: '/a2a', pushNotifications: { allowPrivate: true, backoff: 600_000 } })
    const origin = await app.listen({ port: 0, host: '127.0.0.1' })
    return { app, origin }
  }
  const first = await build()
  const { rows } = await admin.query<{ node_id: string }>(`select node_id from ${schema}.node`)
  const second = await build()
  t.teardown(async () => {
    await Promise.all([first.app.close(), second.app.close()])
    await admin.query(`drop schema ${schema} cascade`)
    await admin.end()
  })
  return {
    first,
    second,
    goOn: () => goOn.resolve(),
    declareFirstDead: () => admin.query(`delete from ${schema}.node where node_id = $1`, [rows[0]!.node_id])
  }
}

type Node = Awaited<ReturnType<typeof buildNodes>>['first']

async function connect(t: Test, { origin }: Node): Promise<Socket> {
  const socket = io(origin, { transports: ['websocket'], forceNew: true, auth: { token: 'ann' } })
  t.teardown(() => socket.disconnect())
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  return socket
}

async function start(socket: Socket): Promise<string> {
  const answer: unknown = await socket.emitWithAck('agent.run', { name: 'held', input: 'Go' })
  return (answer as { runId: string }).runId
}

async function rpc({ origin }: Node, method: string, params: object) {
  const response = await fetch(`${origin}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...ann },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  })
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it by `match`
  return (await response.json()) as { result?: any; error?: object }
}

async function statusAtEnd({ app }: Node, runId: string): Promise<RunStatus | undefined> {
  for await (const _ of app.runs.parts(runId));
  return (await app.runs.find(runId))?.status
}

t.test('sockets on another node keep a run, and its cancel arrives there', { skip }, async (t) => {
  const { first, second } = await buildNodes(t)
  const [client, watcher] = [await connect(t, first), await connect(t, second)]
  const [watched, unwatched] = [await start(client), await start(client)]
  const announced = new Promise<void>((resolve) =>
    first.app.runs.stores.control.subscribe(({ type }) => void (type === 'watch' && resolve()))
  )
  t.same(await watcher.emitWithAck('run.watch', { runId: watched }), { status: 'working' })
  await announced
  client.disconnect()
  t.equal(await statusAtEnd(second, unwatched), 'canceled')
  t.equal((await second.app.runs.find(watched))?.status, 'working')
  t.same(await watcher.emitWithAck('run.cancel', { runId: watched }), { ok: true })
  t.equal(await statusAtEnd(second, watched), 'canceled')
})

t.test('the notifications of a node that was declared dead come from another', { skip }, async (t) => {
  const { first, second, goOn, declareFirstDead } = await buildNodes(t)
  let isAway = true
  const states: string[] = []
  const ended = Promise.withResolvers<void>()
  const attempted = Promise.withResolvers<void>()
  const receiver = createServer((request, reply) => {
    void text(request).then((body) => {
      reply.writeHead(isAway ? 503 : 204).end()
      attempted.resolve()
      const { statusUpdate } = JSON.parse(body) as { statusUpdate?: { status: { state: string } } }
      if (isAway || statusUpdate === undefined) return
      states.push(statusUpdate.status.state)
      if (states.length === 2) ended.resolve()
    })
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  t.teardown(() => receiver.close())
  const { port } = receiver.address() as AddressInfo
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Go' }] }
  const taskPushNotificationConfig = { url: `http://127.0.0.1:${port}/` }
  const configuration = { returnImmediately: true, taskPushNotificationConfig }
  const { result } = await rpc(first, 'SendMessage', { message, configuration })
  const { id } = result.task
  t.match(
    (await rpc(second, 'SendMessage', { message, configuration: { returnImmediately: true } })).result,
    {
      task: { id, history: [{ messageId: 'm1' }] }
    }
  )
  await attempted.promise
  goOn()
  t.equal(await statusAtEnd(second, id as string), 'completed')
  isAway = false
  await declareFirstDead()
  await ended.promise
  t.same(states, ['TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'])
})

t.test('a rate limit counts on both nodes', { skip }, async (t) => {
  const { first, second } = await buildNodes(t)
  const statuses: number[] = []
  for (let index = 0; index < 7; index++) {
    const { origin } = index % 2 === 0 ? first : second
    statuses.push((await fetch(`${origin}/api/agents`, { headers: ann })).status)
  }
  t.same(statuses, [200, 200, 200, 200, 200, 429, 429])
})

t.test(`${RACES} messages that arrive on both nodes at once are one whole task each`, { skip }, async (t) => {
  const { first, second, goOn } = await buildNodes(t)
  goOn()
  const race = async (index: number) => {
    const message = { messageId: `m${index}`, role: 'ROLE_USER', parts: [{ text: `${index}` }] }
    const replies = await Promise.all([first, second].map((node) => rpc(node, 'SendMessage', { message })))
    const [one, other] = replies.map(({ result }) => result.task)
    if (one.id !== other.id) t.equal(one.id, other.id, `message ${index}`)
    for (const { status, history } of [one, other])
      if (status.state !== 'TASK_STATE_COMPLETED' || history[0].messageId !== message.messageId)
        t.fail(`message ${index}: ${JSON.stringify({ status, history })}`)
    return one.id as string
  }
  const ids = new Set<string>()
  for (let index = 0; index < RACES; index += 25) {
    const races = Array.from({ length: 25 }, (_, more) => race(index + more))
    for (const id of await Promise.all(races)) ids.add(id)
  }
  t.equal(ids.size, RACES)
  t.equal((await rpc(second, 'ListTasks', { pageSize: 1 })).result.totalSize, RACES)
})
