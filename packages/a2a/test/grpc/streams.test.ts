import { once } from 'node:events'
import { status } from '@grpc/grpc-js'
import { grpcBinding } from '@svc/a2a/grpc'
import { createInProcessStores, type RunnableDefinition } from '@svc/registry'
import t, { type Test } from 'tap'
import { chunks, createLasting, createWaiting } from '../helpers/agents.ts'
import { anyone, buildApp, echo, sayV1, type AppRequest } from '../helpers/build-app.ts'
import { connectGrpc, detailsOf, failureOf, grpcUrlOf } from '../helpers/grpc-client.ts'
import { createReceiver } from '../helpers/receiver.ts'

async function serve(t: Test, request: AppRequest, port = {}) {
  const grpc = grpcBinding({ port: 0, ...port })
  const app = await buildApp(t, { ...request, options: { grpc, ...request.options } })
  return { ...app, client: connectGrpc(t, await grpcUrlOf(app.origin)) }
}

const atOnce = { configuration: { returnImmediately: true } }

t.test('a client that leaves, or whose deadline passes, does not end its task', async (t) => {
  const waiting = createWaiting()
  const { client } = await serve(t, { runnables: [waiting.runnable] })
  const stream = client.open('SendStreamingMessage', sayV1('x'))
  stream.on('error', () => {})
  const [{ task }] = (await once(stream, 'data')) as [{ task: { id: string } }]
  await waiting.reached()
  stream.cancel()
  const { id } = task
  const late = await failureOf(
    client.call('SendMessage', sayV1('and', { taskId: undefined, contextId: 'c' }), {
      deadline: Date.now() + 200
    })
  )
  t.equal(late.code, status.DEADLINE_EXCEEDED)
  const streamed = await failureOf(client.stream('SubscribeToTask', { id }, { deadline: Date.now() + 100 }))
  t.equal(streamed.code, status.DEADLINE_EXCEEDED)
  t.match(await client.call('GetTask', { id }), { status: { state: 'TASK_STATE_WORKING' } })
  const followed = client.open('SubscribeToTask', { id })
  const events = Array.fromAsync<Record<string, unknown>>(followed)
  await once(followed, 'metadata')
  waiting.goOn()
  t.match((await events).at(-1), { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
  const { tasks } = (await client.call('ListTasks', {})) as { tasks: { status: { state: string } }[] }
  t.equal(tasks.length, 2, 'the other one went on too')
})

t.test('a client that does not read holds up no more than a few events', async (t) => {
  const COUNT = 2_000
  const text = 'x'.repeat(4_096)
  let read = 0
  const stores = createInProcessStores()
  const large: RunnableDefinition = {
    kind: 'agent',
    name: 'large',
    async *stream() {
      for (let index = 0; index < COUNT; index++) {
        yield { type: 'text', text }
        if (index % 50 === 0) await new Promise(setImmediate)
      }
    }
  }
  const log = stores.log.read.bind(stores.log)
  stores.log.read = (runId, after, limit) => {
    const entries = log(runId, after, limit)
    if (Array.isArray(entries)) read += entries.length
    return entries
  }
  const { client, runs } = await serve(t, { runnables: [large], engine: { stores } })
  const stream = client.open('SendStreamingMessage', sayV1('x'))
  stream.pause()
  await once(stream, 'metadata')
  while ((await runs.list({ limit: 9 })).runs.some(({ status: state }) => state === 'working'))
    await new Promise(setImmediate)
  for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate)
  t.ok(read < COUNT / 2, `${read} of ${COUNT} were read`)
  const events = await Array.fromAsync<Record<string, unknown>>(stream)
  t.ok(events.length > COUNT, 'all of them once it reads')
  t.match(events.at(-1), { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
})

t.test('calls beyond the limit of a connection wait at the client', async (t) => {
  const waiting = createWaiting()
  const { client } = await serve(t, { runnables: [waiting.runnable, echo] }, { maxConcurrentStreams: 3 })
  await client.call('ListTasks', {})
  const streams = Array.from({ length: 10 }, (_, index) =>
    client.stream('SendStreamingMessage', sayV1(index < 3 ? 'waiting' : 'echo'))
  )
  await waiting.reached()
  const release = setInterval(waiting.goOn, 10)
  t.teardown(() => clearInterval(release))
  for (const events of await Promise.all(streams))
    t.match(events.at(-1), { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
})

t.test('many chunks, in order; a tenant; a task that has its stream on two connections', async (t) => {
  const { client, origin } = await serve(t, { runnables: [echo, chunks(500)] })
  const events = await client.stream('SendStreamingMessage', { ...sayV1('x'), tenant: 'chunks-500' })
  const texts = events.flatMap((event) => {
    const { artifact } = (event['artifactUpdate'] ?? {}) as { artifact?: { parts: { text: string }[] } }
    return artifact?.parts.map(({ text }) => text) ?? []
  })
  t.equal(texts.join(''), Array.from({ length: 500 }, (_, index) => `word ${index} `).join(''))
  const { id } = (events[0]!['task'] ?? {}) as { id: string }
  const other = connectGrpc(t, await grpcUrlOf(origin))
  t.equal((await failureOf(other.call('GetTask', { id, tenant: 'echo' }))).code, status.NOT_FOUND)
})

t.test(
  'while draining, tasks are read and followed, and new ones refused; then the port is closed',
  async (t) => {
    const waiting = createWaiting()
    const { app, client, runs } = await serve(t, {
      runnables: [waiting.runnable],
      fastify: { forceCloseConnections: 'idle' },
      engine: { drainTimeout: 60_000 }
    })
    const { task } = (await client.call('SendMessage', { ...sayV1('x'), ...atOnce })) as {
      task: { id: string }
    }
    await waiting.reached()
    const closed = app.close()
    while (!runs.draining) await new Promise(setImmediate)
    const err = await failureOf(client.call('SendMessage', sayV1('x')))
    t.equal(err.code, status.UNAVAILABLE)
    t.match(detailsOf(err), [{ reason: 'RUN_ERR_DRAINING' }, { type: 'RetryInfo', retryDelay: /^\d+s$/ }])
    t.match(await client.call('GetTask', { id: task.id }), { status: { state: 'TASK_STATE_WORKING' } })
    const stream = client.open('SubscribeToTask', { id: task.id })
    const events = Array.fromAsync<Record<string, unknown>>(stream)
    await once(stream, 'metadata')
    waiting.goOn()
    t.match((await events).at(-1), { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
    await closed
    t.equal((await failureOf(client.call('GetTask', { id: task.id }))).code, status.UNAVAILABLE)
  }
)

t.test(
  'a stream whose task outlives the service is unavailable, and is followed again after the restart',
  async (t) => {
    const lasting = createLasting()
    const request = {
      runnables: [lasting.runnable],
      engine: { stores: createInProcessStores(), drainTimeout: 50 },
      options: { authenticate: anyone }
    }
    const first = await serve(t, request)
    const stream = first.client.open('SendStreamingMessage', sayV1('x'))
    const [{ task }] = (await once(stream, 'data')) as [{ task: { id: string } }]
    const ended = failureOf(once(stream, 'end'))
    await first.app.close()
    t.match(await ended, { code: status.UNAVAILABLE })
    lasting.letGo()
    const second = await serve(t, request)
    const events = await second.client.stream('SubscribeToTask', { id: task.id }).catch(() => [])
    t.match(
      await second.client.call('GetTask', { id: task.id }),
      { status: { state: 'TASK_STATE_COMPLETED' } },
      `${events.length}`
    )
  }
)

t.test('push notifications of configurations made over gRPC, in the words of each version', async (t) => {
  const waiting = createWaiting()
  const receiver = await createReceiver(t)
  const { client, origin } = await serve(t, {
    runnables: [waiting.runnable],
    options: { pushNotifications: { allowPrivate: true } }
  })
  const legacy = connectGrpc(t, await grpcUrlOf(origin), '0.3')
  const { task } = (await client.call('SendMessage', { ...sayV1('x'), ...atOnce })) as {
    task: { id: string }
  }
  await waiting.reached()
  await client.call('CreateTaskPushNotificationConfig', {
    taskId: task.id,
    url: `${receiver.url}?new`,
    token: 'k'
  })
  await legacy.call('CreateTaskPushNotificationConfig', {
    parent: `tasks/${task.id}`,
    configId: 'old',
    config: { pushNotificationConfig: { url: `${receiver.url}?old` } }
  })
  waiting.goOn()
  const got = await receiver.until(3)
  const bodies = JSON.stringify(got.map(({ body }) => body))
  t.match(bodies, '"statusUpdate"')
  t.match(bodies, '"kind":"task"')
})
