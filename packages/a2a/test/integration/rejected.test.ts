import { errors, type RunnableDefinition } from '@svc/registry'
import t from 'tap'
import { askByRpc } from '../helpers/ask.ts'
import { buildApp, say, sayV1 } from '../helpers/build-app.ts'
import { createReceiver } from '../helpers/receiver.ts'
import { connectSdkClients } from '../helpers/sdk-clients.ts'

const reason = 'Refunds need a person'
const clerk: RunnableDefinition = {
  kind: 'agent',
  name: 'clerk',
  async run(input, context) {
    if (input === 'break') throw new Error('broken')
    if (input === 'wait') await context.ask({ message: 'Sure?' })
    throw new errors.RUN_ERR_REJECTED(reason)
  }
}
const rejected = 'TASK_STATE_REJECTED'
const status = {
  message: { parts: [{ text: reason }], metadata: { code: 'RUN_ERR_REJECTED', retryable: false } }
}

t.test(
  'a task whose run rejects what it was asked is rejected, with the reason, in every version',
  async (t) => {
    const app = await buildApp(t, {
      runnables: [clerk],
      options: { pushNotifications: { allowPrivate: true } }
    })
    const { result } = await app.rpc('message/send', say('refund'))
    t.match(result.status, { ...status, state: 'rejected', timestamp: String })
    t.match((await app.rpc('tasks/get', { id: result.id })).result.status, { ...status, state: 'rejected' })
    const id = String(result.id)
    t.match((await app.rpc('GetTask', { id })).result.status, { ...status, state: rejected })
    t.match((await app.rpc('SendMessage', sayV1('x'))).result.task.status, { ...status, state: rejected })
    for (const client of await connectSdkClients(app.origin)) {
      const task = (await client.send([{ text: 'refund' }])) as { id: string; status?: object }
      t.match(JSON.stringify(task.status), reason, client.name)
      t.match(await app.runs.find(task.id), { status: 'failed', error: { code: 'RUN_ERR_REJECTED' } })
    }
    const legacy = await app.stream('message/stream', say('x'))
    t.match(legacy.at(-1)!.result, { final: true, status: { ...status, state: 'rejected' } })
    const modern = await app.stream('SendStreamingMessage', sayV1('x'))
    t.match(modern.at(-1)!.result, { statusUpdate: { status: { ...status, state: rejected } } })

    for (const [method, params] of [
      ['SendMessage', sayV1('again', { taskId: id })],
      ['CancelTask', { id }],
      ['SubscribeToTask', { id }]
    ] as const) {
      const { error } = await app.rpc(method, params)
      t.match(error, { code: method === 'CancelTask' ? -32002 : -32004, message: /rejected/ }, method)
    }
  }
)

t.test('subscriptions and push notifications report the rejection', async (t) => {
  const app = await buildApp(t, {
    runnables: [clerk],
    options: { pushNotifications: { allowPrivate: true } }
  })
  const { result } = await app.rpc('message/send', say('wait'))
  const id = String(result.id)
  const receivers = await Promise.all([createReceiver(t), createReceiver(t)])
  await app.rpc('tasks/pushNotificationConfig/set', {
    taskId: id,
    pushNotificationConfig: { url: receivers[0].url }
  })
  await app.rpc('CreateTaskPushNotificationConfig', { taskId: id, url: receivers[1].url })
  const events = await askByRpc(app, 'subscribe', '1.0', { id }, () =>
    app.runs.answer(`${id}.1`, { action: 'decline' })
  )
  t.match(events.at(-1)!.result, { statusUpdate: { status: { ...status, state: rejected } } })
  for (const { all, until } of receivers)
    while (!/rejected/i.test(JSON.stringify(all.at(-1)?.body.status ?? all.at(-1)?.body.statusUpdate ?? '')))
      await until(all.length + 1)
})

t.test('a list of rejected tasks has no failed ones, and the reverse', async (t) => {
  const app = await buildApp(t, { runnables: [clerk] })
  for (const text of ['refund', 'break', 'refund']) await app.rpc('message/send', say(text))
  const states = async (filter: string) => {
    const { tasks, totalSize } = (await app.rpc('ListTasks', { status: filter })).result
    return [tasks.map((task: { status: { state: string } }) => task.status.state), totalSize]
  }
  t.same(await states(rejected), [[rejected, rejected], 2])
  t.same(await states('TASK_STATE_FAILED'), [['TASK_STATE_FAILED'], 1])
})
