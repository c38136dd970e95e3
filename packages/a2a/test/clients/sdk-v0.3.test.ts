import { grpcBinding } from '@svc/a2a/grpc'
import { ClientFactory, type Client } from 'a2a-sdk-v0.3/client'
import { GrpcTransportFactory } from 'a2a-sdk-v0.3/client/grpc'
import { sdkV03 } from '@tools/a2a-clients/sdk-v0.3'
import t from 'tap'
import { asker, createWaiting, worker } from '../helpers/agents.ts'
import { anyone, buildApp, echo } from '../helpers/build-app.ts'
import { testClients } from '../helpers/client-scenario.ts'

await testClients(sdkV03)

function send(text: string, fields: object = {}, configuration?: object) {
  const parts = [{ kind: 'text', text }]
  const message = { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts, ...fields }
  return { message, ...(configuration && { configuration }) } as never
}

for (const transport of ['JSONRPC', 'HTTP+JSON', 'GRPC']) {
  t.test(`@a2a-js/sdk 0.3.x over ${transport}`, async (t) => {
    const waiting = createWaiting()
    const { origin, url, rpc } = await buildApp(t, {
      runnables: [echo, waiting.runnable, asker, worker],
      options: {
        grpc: grpcBinding({ port: 0 }),
        defaultInputModes: ['*/*'],
        pushNotifications: { allowPrivate: true },
        authenticate: anyone,
        extendedCard: (card) => ({ ...card, description: 'more' })
      }
    })
    const { options } = new ClientFactory()
    const transports = [...options.transports!, new GrpcTransportFactory()]
    const factory = new ClientFactory({ ...options, transports, preferredTransports: [transport] })
    const client: Client = await factory.createFromUrl(origin)

    await t.test('cards', async (t) => {
      const card = await client.getAgentCard()
      t.match(card, {
        description: 'more',
        protocolVersion: '0.3.0',
        supportsAuthenticatedExtendedCard: true
      })
      t.equal(card.skills.length, 4)
    })

    await t.test('send', async (t) => {
      t.match(await client.sendMessage(send('hello')), {
        kind: 'task',
        status: { state: 'completed' },
        artifacts: [{ parts: [{ kind: 'text', text: 'hello' }] }],
        history: [{ role: 'user' }, { role: 'agent' }],
        metadata: { agentName: 'echo' }
      })
    })

    await t.test('files and data', async (t) => {
      const parts = [
        { kind: 'file', file: { bytes: 'aGk=', mimeType: 'image/png', name: 'a.png' } },
        { kind: 'file', file: { uri: 'https://example.org/b', mimeType: 'text/plain' } },
        { kind: 'data', data: { a: 1 } }
      ]
      const task = await client.sendMessage(send('x', { parts, metadata: { agentName: 'echo' } }))
      const [answer] = (task as { artifacts: { parts: { text: string }[] }[] }).artifacts
      // Files have no name in the proto's JSON.
      const filename = transport === 'JSONRPC' && { filename: 'a.png' }
      t.same(JSON.parse(answer!.parts[0]!.text), [
        { type: 'image', mimeType: 'image/png', ...filename, data: 'aGk=' },
        { type: 'file', mimeType: 'text/plain', url: 'https://example.org/b' },
        { type: 'text', text: '{"a":1}' }
      ])
    })

    await t.test('stream', async (t) => {
      const events = await toArray(client.sendMessageStream(send('ask the worker')))
      t.match(events[0], { kind: 'task', status: { state: 'submitted' } })
      t.match(events.at(-1), { kind: 'status-update', status: { state: 'completed' }, final: true })
      t.ok(events.some(({ kind }) => kind === 'artifact-update'))
    })

    await t.test('get', async (t) => {
      const sent = (await client.sendMessage(send('again'))) as { id: string }
      t.equal((await client.getTask({ id: sent.id, historyLength: 1 })).history?.length, 1)
    })

    await t.test('list, without the client: it has no method for it', async (t) => {
      const sent = (await client.sendMessage(send('hello', { contextId: 'listed' }))) as { id: string }
      const page =
        transport === 'JSONRPC'
          ? ((await rpc('tasks/list', { contextId: 'listed' })).result as object)
          : ((await (await fetch(`${url}/v1/tasks?contextId=listed`)).json()) as object)
      t.match(page, { tasks: [{ id: sent.id }], totalSize: 1, nextPageToken: '' })
    })

    await t.test('cancel, resubscribe', async (t) => {
      const streaming = client.sendMessageStream(send('waiting'))
      const { value: first } = await streaming.next()
      const { id } = first as { id: string }
      const events = client.resubscribeTask({ id })
      t.match((await events.next()).value, { kind: 'task', id })
      t.match(await client.cancelTask({ id }), { status: { state: 'canceled' } })
      const told = await toArray(events)
      t.match(told.at(-1), { status: { state: 'canceled' }, final: true })
      await t.rejects(client.cancelTask({ id }), { name: 'TaskNotCancelableError' })
      t.match(await toArray(client.resubscribeTask({ id })), [
        { kind: 'task', status: { state: 'canceled' } }
      ])
      await streaming.return()
    })

    await t.test('a second turn', async (t) => {
      const first = (await client.sendMessage(send('asker please'))) as { id: string; contextId: string }
      t.match(first, { status: { state: 'input-required', message: { parts: [{}, { kind: 'data' }] } } })
      const second = await client.sendMessage(send('deny', { taskId: first.id, contextId: first.contextId }))
      t.match(second, { id: first.id, status: { state: 'completed' } })
    })

    await t.test('push notification configs', async (t) => {
      const streaming = client.sendMessageStream(send('waiting'))
      const { value: first } = await streaming.next()
      const { id: taskId } = first as { id: string }
      const pushNotificationConfig = { id: 'p1', url: 'http://127.0.0.1:9/hook', token: 'x' }
      const made = await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig })
      t.match(made, { taskId, pushNotificationConfig })
      const query = { id: taskId, pushNotificationConfigId: 'p1' }
      t.match(await client.getTaskPushNotificationConfig(query), made)
      t.equal((await client.listTaskPushNotificationConfig({ id: taskId })).length, 1)
      await client.deleteTaskPushNotificationConfig(query)
      t.equal((await client.listTaskPushNotificationConfig({ id: taskId })).length, 0)
      await client.cancelTask({ id: taskId })
      await streaming.return()
    })

    await t.test('errors', async (t) => {
      await t.rejects(client.getTask({ id: 'nothing' }), { name: 'TaskNotFoundError' })
      await t.rejects(client.sendMessage(send('x', { taskId: 'nothing' })), { name: 'TaskNotFoundError' })
    })
  })
}

async function toArray<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const event of events) all.push(event)
  return all
}
