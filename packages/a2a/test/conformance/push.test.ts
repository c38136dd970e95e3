import t, { type Test } from 'tap'
import { createWaiting, createQuestioner } from '../helpers/agents.ts'
import { buildApp, echo, sayV1 } from '../helpers/build-app.ts'
import { ask, BINDINGS } from '../helpers/conformance-client.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'
import { createReceiver } from '../helpers/receiver.ts'

const options = { pushNotifications: { allowPrivate: true, backoff: 5 } }

async function serve(t: Test) {
  const waiting = createWaiting()
  const app = await buildApp(t, { runnables: [waiting.runnable, echo], options })
  const configuration = { returnImmediately: true }
  const { task } = (await ask(app, 'rpc', 'send', { ...sayV1('waiting'), configuration })).result
  return { app, waiting, taskId: task.id as string }
}

t.test('a configuration is made, read, listed and removed', async (t) => {
  for (const binding of BINDINGS) {
    const { app, taskId } = await serve(t)
    const url = 'http://127.0.0.1:9/hook'
    const whole = {
      taskId,
      id: 'p1',
      url,
      token: 't',
      authentication: { scheme: 'Basic', credentials: 'YTpi' }
    }
    t.same((await ask(app, binding, 'setPushConfig', whole)).result, whole)
    const { result: unnamed } = await ask(app, binding, 'setPushConfig', { taskId, url })
    t.match(unnamed, { taskId, url, id: /^.+$/ }, 'the service gives it an id')

    t.same((await ask(app, binding, 'getPushConfig', { taskId, id: 'p1' })).result, whole)
    const { result: list } = await ask(app, binding, 'listPushConfigs', { taskId })
    t.same(list, { configs: [whole, unnamed], nextPageToken: '' })
    t.match((await ask(app, binding, 'getPushConfig', { taskId, id: 'p2' })).error, {
      reason: 'TASK_NOT_FOUND'
    })

    for (let time = 0; time < 2; time++)
      t.same(
        (await ask(app, binding, 'deletePushConfig', { taskId, id: 'p1' })).result,
        {},
        'also if it is gone'
      )
    t.match((await ask(app, binding, 'getPushConfig', { taskId, id: 'p1' })).error, {
      reason: 'TASK_NOT_FOUND'
    })
    t.match((await ask(app, binding, 'listPushConfigs', { taskId })).result, { configs: [{ url }] })
  }
})

t.test('a configuration stays until its task has ended, and can be read then', async (t) => {
  const { app, waiting, taskId } = await serve(t)
  const receiver = await createReceiver(t)
  const config = { taskId, id: 'p', url: receiver.url }
  await ask(app, 'rpc', 'setPushConfig', config)
  waiting.goOn()
  const [, last] = await receiver.until(2)
  t.match(last!.body, { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
  t.same((await ask(app, 'rpc', 'getPushConfig', { taskId, id: 'p' })).result, config)
})

t.test('each configured receiver gets each update, with its own credentials', async (t) => {
  for (const binding of BINDINGS) {
    const { app, waiting, taskId } = await serve(t)
    const given = [
      { authentication: { scheme: 'Bearer', credentials: 'mine' } },
      { authentication: { scheme: 'Basic', credentials: 'YTpi' }, token: 'unique' },
      { authentication: { scheme: 'bearer', credentials: 'small' } },
      {}
    ]
    const receivers = await Promise.all(given.map(() => createReceiver(t)))
    for (const [index, config] of given.entries())
      await ask(app, binding, 'setPushConfig', { taskId, url: receivers[index]!.url, ...config })
    waiting.goOn()
    for (const [index, receiver] of receivers.entries()) {
      const all = await receiver.until(2)
      const { authentication, token } = given[index]! as {
        authentication?: Record<string, string>
        token?: string
      }
      for (const { headers, body } of all) {
        t.equal(headers['content-type'], 'application/a2a+json')
        t.equal(
          headers.authorization,
          authentication && `${authentication['scheme']} ${authentication['credentials']}`
        )
        t.equal(headers['x-a2a-notification-token'], token)
        t.same(faultsOf('1.0', 'StreamResponse', body), [])
        t.equal(Object.keys(body as object).length, 1, 'exactly one member')
      }
      t.match(
        all.map(({ body }) => body),
        [
          { artifactUpdate: { taskId, artifact: { parts: [{ text: 'one two' }] } } },
          { statusUpdate: { taskId, status: { state: 'TASK_STATE_COMPLETED' } } }
        ]
      )
    }
  }
})

t.test('a configuration of a message does not depend on whether its client waits', async (t) => {
  for (const binding of BINDINGS)
    for (const name of ['send', 'stream'] as const)
      for (const returnImmediately of [true, false]) {
        const app = await buildApp(t, { runnables: [createQuestioner(undefined)], options })
        const receiver = await createReceiver(t)
        const configuration = {
          returnImmediately,
          taskPushNotificationConfig: { id: 'own', url: receiver.url }
        }
        const { result, events } = await ask(app, binding, name, { ...sayV1('x'), configuration })
        const { id: taskId } = (result ?? events![0]).task
        const states = (await receiver.until(2)).map(({ body }) => body.statusUpdate.status.state)
        t.same(states, ['TASK_STATE_WORKING', 'TASK_STATE_INPUT_REQUIRED'], `${name} ${returnImmediately}`)
        t.match((await ask(app, binding, 'listPushConfigs', { taskId })).result, {
          configs: [{ id: 'own', taskId }]
        })
      }
})

t.test('a receiver that does not answer in time is asked again', async (t) => {
  const waiting = createWaiting()
  const app = await buildApp(t, {
    runnables: [waiting.runnable],
    options: { pushNotifications: { ...options.pushNotifications, timeout: 100 } }
  })
  const receiver = await createReceiver(t, (_received, count) =>
    count === 1 ? new Promise<number>(() => {}) : 204
  )
  const configuration = { returnImmediately: true, taskPushNotificationConfig: { url: receiver.url } }
  await ask(app, 'rpc', 'send', { ...sayV1('x'), configuration })
  const [first, again] = await receiver.until(2)
  t.same(again!.body, first!.body)
  waiting.goOn()
  t.match((await receiver.until(4)).at(-1)!.body, {
    statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } }
  })
})
