import { A2AClient } from 'a2a-sdk-v0.2/client'
import { sdkV02 } from '@tools/a2a-clients/sdk-v0.2'
import t from 'tap'
import { asker, createWaiting, worker } from '../helpers/agents.ts'
import { buildApp, echo } from '../helpers/build-app.ts'
import { testClients } from '../helpers/client-scenario.ts'

await testClients([sdkV02])

function send(text: string, fields: object = {}, configuration?: object) {
  const parts = [{ kind: 'text', text }]
  const message = { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts, ...fields }
  return { message, ...(configuration && { configuration }) } as never
}

t.test('@a2a-js/sdk 0.2.x', async (t) => {
  const waiting = createWaiting()
  const { origin, rpc } = await buildApp(t, {
    runnables: [echo, waiting.runnable, asker, worker],
    options: { pushNotifications: { allowPrivate: true } }
  })
  const client = new A2AClient(origin)

  await t.test('card', async (t) => {
    t.match(await client.getAgentCard(), { capabilities: { streaming: true, pushNotifications: true } })
  })

  await t.test('send and get', async (t) => {
    const { result } = (await client.sendMessage(send('hello'))) as { result: { id: string } }
    t.match(result, { kind: 'task', status: { state: 'completed' } })
    t.match(await client.getTask({ id: result.id }), { result })
  })

  await t.test('send without waiting, cancel', async (t) => {
    const request = send('waiting', {}, { blocking: false, acceptedOutputModes: ['text/plain'] })
    const { result } = (await client.sendMessage(request)) as { result: { id: string } }
    t.match(result, { status: { state: 'working' } })
    t.match(await client.cancelTask({ id: result.id }), { result: { status: { state: 'canceled' } } })
    t.match(await client.cancelTask({ id: result.id }), { error: { code: -32002 } })
  })

  await t.test('stream and resubscribe', async (t) => {
    const kinds: string[] = []
    let id = ''
    for await (const event of client.sendMessageStream(send('waiting'))) {
      kinds.push(event.kind)
      if (event.kind === 'task') id = event.id
      if (event.kind !== 'artifact-update' || kinds.length > 3) continue
      const later = client.resubscribeTask({ id })
      t.match((await later.next()).value, { kind: 'task', id, artifacts: [{ artifactId: 'answer' }] })
      await later.return()
      waiting.goOn()
    }
    t.same(kinds, [
      'task',
      'status-update',
      'artifact-update',
      'artifact-update',
      'artifact-update',
      'status-update'
    ])
  })

  await t.test('list, by plain JSON-RPC: the client has no method for it', async (t) => {
    const request = send('hello', { contextId: 'listed' })
    const { result } = (await client.sendMessage(request)) as { result: { id: string } }
    t.match(await rpc('tasks/list', { contextId: 'listed' }), {
      result: { tasks: [{ kind: 'task', id: result.id }], totalSize: 1, nextPageToken: '' }
    })
  })

  await t.test('push notification configs, list and delete by plain JSON-RPC', async (t) => {
    const { result } = (await client.sendMessage(send('asker'))) as { result: { id: string } }
    const pushNotificationConfig = { id: 'p1', url: 'http://127.0.0.1:9/hook' }
    const made = { taskId: result.id, pushNotificationConfig }
    t.match(await client.setTaskPushNotificationConfig(made), { result: made })
    t.match(await client.getTaskPushNotificationConfig({ id: result.id }), { result: made })
    const list = async () => (await rpc('tasks/pushNotificationConfig/list', { id: result.id })).result as []
    t.match(await list(), [made])
    const named = { id: result.id, pushNotificationConfigId: 'p1' }
    t.match(await rpc('tasks/pushNotificationConfig/delete', named), { result: null })
    t.same(await list(), [])
  })

  await t.test('errors', async (t) => {
    t.match(await client.getTask({ id: 'nothing' }), { error: { code: -32001 } })
  })
})
