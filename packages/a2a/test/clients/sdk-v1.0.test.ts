import { ClientFactory, type Client } from '@a2a-js/sdk/client'
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc'
import { grpcBinding } from '@svc/a2a/grpc'
import { sdkV10 } from '@tools/a2a-clients/sdk-v1.0'
import t from 'tap'
import { asker, createWaiting, worker } from '../helpers/agents.ts'
import { anyone, buildApp, echo } from '../helpers/build-app.ts'
import { testClients } from '../helpers/client-scenario.ts'

await testClients(sdkV10)

const text = (value: string) => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: ''
})

function send(value: string, fields: object = {}, configuration?: object) {
  const message = {
    messageId: crypto.randomUUID(),
    role: 1,
    parts: [text(value)],
    contextId: '',
    taskId: '',
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...fields
  }
  return { tenant: '', message, configuration, metadata: undefined } as never
}

const STATES = { submitted: 1, working: 2, completed: 3, canceled: 5, inputRequired: 6 }

for (const transport of ['JSONRPC', 'HTTP+JSON', 'GRPC']) {
  t.test(`@a2a-js/sdk 1.x over ${transport}`, async (t) => {
    const waiting = createWaiting()
    const { origin } = await buildApp(t, {
      runnables: [echo, waiting.runnable, asker, worker],
      options: {
        grpc: grpcBinding({ port: 0 }),
        pushNotifications: { allowPrivate: true },
        authenticate: anyone,
        extendedCard: (card) => ({ ...card, description: 'more' })
      }
    })
    const { options } = new ClientFactory()
    const transports = [...options.transports, new GrpcTransportFactory()]
    const factory = new ClientFactory({ ...options, transports, preferredTransports: [transport] })
    const client: Client = await factory.createFromUrl(origin)
    t.equal(client.protocolVersion, '1.0')

    await t.test('cards', async (t) => {
      const card = await client.getAgentCard()
      t.match(card, { description: 'more', capabilities: { extendedAgentCard: true, streaming: true } })
      t.same(
        card.skills.map(({ id }) => id),
        ['echo', 'waiting', 'asker', 'worker']
      )
    })

    await t.test('send', async (t) => {
      const task = await client.sendMessage(send('hello'))
      t.match(task, {
        status: { state: STATES.completed },
        artifacts: [{ parts: [{ content: { $case: 'text', value: 'hello' } }] }],
        history: [{ role: 1 }, { role: 2 }],
        metadata: { agentName: 'echo' }
      })
    })

    await t.test('stream', async (t) => {
      const events = await toArray(client.sendMessageStream(send('ask the worker')))
      t.equal(events[0]?.payload?.$case, 'task')
      t.match(events[0]?.payload?.value, { status: { state: STATES.submitted } })
      t.match(events.at(-1)?.payload, {
        $case: 'statusUpdate',
        value: { status: { state: STATES.completed } }
      })
      t.ok(events.some(({ payload }) => payload?.$case === 'artifactUpdate'))
    })

    await t.test('get, list', async (t) => {
      const sent = (await client.sendMessage(send('again', { contextId: 'c1' }))) as { id: string }
      const task = await client.getTask({ tenant: '', id: sent.id, historyLength: 1 })
      t.equal(task.history.length, 1)
      const page = await client.listTasks({
        tenant: '',
        contextId: 'c1',
        pageSize: 5,
        status: 0,
        pageToken: ''
      } as never)
      t.match(page, { totalSize: 1, nextPageToken: '', tasks: [{ id: sent.id }] })
    })

    await t.test('cancel, resubscribe', async (t) => {
      const request = send('waiting', {}, { returnImmediately: true, acceptedOutputModes: [] })
      const { id } = (await client.sendMessage(request)) as { id: string }
      const events = client.resubscribeTask({ tenant: '', id })
      t.equal((await events.next()).value?.payload?.$case, 'task')
      const task = await client.cancelTask({ tenant: '', id, metadata: undefined })
      t.equal(task.status?.state, STATES.canceled)
      const told = await toArray(events)
      t.match(told.at(-1)?.payload, { value: { status: { state: STATES.canceled } } })
      await t.rejects(client.cancelTask({ tenant: '', id, metadata: undefined }), {
        name: /TaskNotCancelableError/
      })
      await t.rejects(toArray(client.resubscribeTask({ tenant: '', id })), {
        name: /UnsupportedOperationError/
      })
    })

    await t.test('a second turn', async (t) => {
      const first = (await client.sendMessage(send('asker please'))) as { id: string; contextId: string }
      t.match(first, { status: { state: STATES.inputRequired } })
      const second = await client.sendMessage(
        send('approve', { taskId: first.id, contextId: first.contextId })
      )
      t.match(second, { id: first.id, status: { state: STATES.completed } })
    })

    await t.test('push notification configs', async (t) => {
      const request = send('waiting', {}, { returnImmediately: true, acceptedOutputModes: [] })
      const { id: taskId } = (await client.sendMessage(request)) as { id: string }
      const config = { tenant: '', taskId, id: 'p1', url: 'http://127.0.0.1:9/hook', token: 'x' }
      const authentication = { scheme: 'Bearer', credentials: 'y' }
      const listed = { tenant: '', taskId, pageSize: 0, pageToken: '' }
      const made = await client.createTaskPushNotificationConfig({ ...config, authentication })
      t.match(made, { id: 'p1', url: config.url, authentication })
      t.match(await client.getTaskPushNotificationConfig({ tenant: '', taskId, id: 'p1' }), made)
      const all = await client.listTaskPushNotificationConfig(listed)
      t.equal(all.configs.length, 1)
      await client.deleteTaskPushNotificationConfig({ tenant: '', taskId, id: 'p1' })
      const none = await client.listTaskPushNotificationConfig(listed)
      t.equal(none.configs.length, 0)
      await client.cancelTask({ tenant: '', id: taskId, metadata: undefined })
    })

    await t.test('errors', async (t) => {
      await t.rejects(client.getTask({ tenant: '', id: 'nothing' }), { name: /TaskNotFoundError/ })
      await t.rejects(client.sendMessage(send('x', { taskId: 'nothing' })), { name: /TaskNotFoundError/ })
      await t.rejects(client.sendMessage(send('x', { parts: [] })), { name: /RequestMalformed|A2AError/ })
    })
  })
}

async function toArray<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const event of events) all.push(event)
  return all
}
