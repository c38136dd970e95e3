import { ClientFactory, type Client } from '@a2a-js/sdk/client'
import t from 'tap'
import { asker, createWaiting } from '../helpers/agents.ts'
import { anyone, buildApp, echo, sayV1, type TestApp } from '../helpers/build-app.ts'

const configuration = { returnImmediately: true, acceptedOutputModes: [] }

function send(text: string, fields: object = {}) {
  const part = { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }
  const message = {
    messageId: crypto.randomUUID(),
    role: 1,
    parts: [part],
    contextId: '',
    taskId: '',
    metadata: undefined,
    extensions: [],
    referenceTaskIds: []
  }
  return { tenant: '', message, configuration: undefined, metadata: undefined, ...fields } as never
}

async function connect({ url }: TestApp, transport: string, tenant: string): Promise<Client> {
  const factory = new ClientFactory({ ...new ClientFactory().options, preferredTransports: [transport] })
  return factory.createFromUrl(`${url}/${encodeURIComponent(tenant)}/.well-known/agent-card.json`, '')
}

for (const transport of ['JSONRPC', 'HTTP+JSON'])
  t.test(`@a2a-js/sdk 1.x reaches one agent by its card, over ${transport}`, async (t) => {
    const waiting = createWaiting('my agent')
    const app = await buildApp(t, {
      runnables: [echo, waiting.runnable, asker],
      options: {
        pushNotifications: { allowPrivate: true },
        authenticate: anyone,
        extendedCard: (card) => card
      }
    })
    const mine = await connect(app, transport, 'my agent')
    const other = await connect(app, transport, 'echo')
    t.match(await mine.getAgentCard(), { name: 'my agent', supportedInterfaces: [{ tenant: 'my agent' }] })

    const events = mine.sendMessageStream(send('echo this'))
    const first = (await events.next()).value?.payload?.value as { id: string; metadata: object }
    t.match(first, { metadata: { agentName: 'my agent' } })
    const { id } = first
    t.match(await mine.getTask({ tenant: '', id } as never), { id })
    await t.rejects(other.getTask({ tenant: '', id } as never), { name: /TaskNotFoundError/ })
    const all = { tenant: '', contextId: '', pageSize: 5, status: 0, pageToken: '' } as never
    t.match(await mine.listTasks(all), { totalSize: 1, tasks: [{ id }] })
    t.match(await other.listTasks(all), { totalSize: 0 })

    const subscribed = mine.resubscribeTask({ tenant: '', id })
    t.equal((await subscribed.next()).value?.payload?.$case, 'task')
    const config = { tenant: '', taskId: id, id: 'p1', url: 'http://127.0.0.1:9/', token: '' }
    t.match(await mine.createTaskPushNotificationConfig({ ...config, authentication: undefined }), {
      id: 'p1'
    })
    t.match(await mine.getTaskPushNotificationConfig({ tenant: '', taskId: id, id: 'p1' }), { id: 'p1' })
    const { configs } = await mine.listTaskPushNotificationConfig({ tenant: '', taskId: id } as never)
    t.equal(configs.length, 1)
    await mine.deleteTaskPushNotificationConfig({ tenant: '', taskId: id, id: 'p1' })
    await t.rejects(other.cancelTask({ tenant: '', id, metadata: undefined }), { name: /TaskNotFoundError/ })
    t.match(await mine.cancelTask({ tenant: '', id, metadata: undefined }), { status: { state: 5 } })

    const sent = await other.sendMessage(send('asker', { configuration }))
    t.match(sent, { metadata: { agentName: 'echo' } })
    // The tenant of a request overrides that of the card.
    t.match(await other.sendMessage(send('x', { tenant: 'asker', configuration })), {
      metadata: { agentName: 'asker' }
    })
    await t.rejects(other.sendMessage(send('x', { tenant: 'nobody' })))
    const { result } = await app.rpc('ListTasks', {})
    t.equal(result.totalSize, 3, 'without a tenant they are all there')
    t.ok(await app.rpc('SendMessage', sayV1('x')))
  })
