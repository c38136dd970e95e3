import { createInProcessStores } from '@svc/registry'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createWaiting } from '../helpers/agents.ts'
import { buildApp, say } from '../helpers/build-app.ts'

const lookup = async () => [{ address: '93.184.215.14', family: 4 }]

t.test('a task has at most ten, even if many are set at once in a slow store', async (t) => {
  const { tasks } = createInProcessStores()
  const slow = {
    ...tasks,
    async listPushConfigs(taskId: string) {
      const found = await tasks.listPushConfigs(taskId)
      await pause(5)
      return found
    }
  }
  const app = await buildApp(t, {
    runnables: [createWaiting().runnable],
    options: { pushNotifications: { lookup }, tasks: slow }
  })
  const { result } = await app.rpc('message/send', { ...say('x'), configuration: { blocking: false } })
  const set = (id: number) =>
    app.rpc('tasks/pushNotificationConfig/set', {
      taskId: result.id,
      pushNotificationConfig: { id: `c${id}`, url: 'https://example.org/' }
    })
  const replies = await Promise.all(Array.from({ length: 30 }, (_, id) => set(id)))
  t.equal(replies.filter((reply) => reply.result !== undefined).length, 10)
  const listed = await app.rpc('tasks/pushNotificationConfig/list', { id: result.id })
  t.equal(listed.result.length, 10)
})

t.test('values that no header can have are refused when they are set', async (t) => {
  const app = await buildApp(t, { options: { pushNotifications: { lookup } } })
  const { id: taskId } = (await app.rpc('message/send', say('x'))).result
  const url = 'https://example.org/'
  for (const bad of ['a\r\nx-other: b', 'a\u0000', '…', 'x'.repeat(5_000)]) {
    for (const config of [
      { token: bad },
      { authentication: { schemes: ['Bearer'], credentials: bad } },
      { authentication: { schemes: [bad], credentials: 'x' } }
    ])
      t.match(
        await app.rpc('tasks/pushNotificationConfig/set', {
          taskId,
          pushNotificationConfig: { url, ...config }
        }),
        { error: { code: -32602 } }
      )
    for (const config of [{ token: bad }, { authentication: { scheme: 'Bearer', credentials: bad } }])
      t.match(await app.rpc('CreateTaskPushNotificationConfig', { taskId, url, ...config }), {
        error: { code: -32602 }
      })
  }
  const good = { token: 'ü x', authentication: { scheme: 'Bearer', credentials: 'abc' } }
  t.match(await app.rpc('CreateTaskPushNotificationConfig', { taskId, url, ...good }), { result: good })
})
