import { createInProcessStores } from '@svc/registry'
import { createFailingStores } from '@svc/testing'
import t from 'tap'
import { createWaiting } from '../helpers/agents.ts'
import { buildApp, sayV1 } from '../helpers/build-app.ts'

t.test('while a store fails, every operation that needs it is refused for now', async (t) => {
  const { stores, fail, work } = createFailingStores(createInProcessStores())
  const { url, rpc } = await buildApp(t, {
    runnables: [createWaiting().runnable],
    engine: { stores },
    options: { pushNotifications: { allowPrivate: true } }
  })
  const { result } = await rpc('SendMessage', { ...sayV1('x'), configuration: { returnImmediately: true } })
  const { id } = result.task
  fail(new Error('connection refused at secret-host'))
  const receiver = 'http://127.0.0.1:9/'
  const operations: [method: string, params: object][] = [
    ['GetTask', { id }],
    ['ListTasks', {}],
    ['CancelTask', { id }],
    ['SubscribeToTask', { id }],
    ['SendMessage', sayV1('x')],
    ['SendMessage', sayV1('x', { taskId: id })],
    ['SendStreamingMessage', sayV1('x')],
    ['CreateTaskPushNotificationConfig', { taskId: id, url: receiver }],
    ['GetTaskPushNotificationConfig', { taskId: id, id: 'p' }],
    ['ListTaskPushNotificationConfigs', { taskId: id }],
    ['DeleteTaskPushNotificationConfig', { taskId: id, id: 'p' }]
  ]
  for (const [method, params] of operations) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    })
    t.equal(response.status, 503, method)
    t.match(response.headers.get('retry-after'), /^\d+$/, method)
    const body = await response.text()
    t.match(body, 'RUN_ERR_STORE')
    t.notMatch(body, 'secret-host')
  }
  const overRest = await fetch(`${url}/tasks/${id}`)
  t.equal(overRest.status, 503)
  t.match(overRest.headers.get('retry-after'), /^\d+$/)
  work()
  t.match(await rpc('GetTask', { id }), { result: { id } })
})
