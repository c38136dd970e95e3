import { setTimeout as pause } from 'node:timers/promises'
import { createInProcessStores } from '@svc/registry'
import t from 'tap'
import { asker, createWaiting, worker } from '../helpers/agents.ts'
import { buildApp, say, sayV1 } from '../helpers/build-app.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'
import { createReceiver } from '../helpers/receiver.ts'

const options = { pushNotifications: { allowPrivate: true, backoff: 5, attempts: 3 } }
const authentication = { schemes: ['Bearer'], credentials: 'mine' }

t.test('a receiver of 1.0 gets each event, with its credentials', async (t) => {
  const receiver = await createReceiver(t)
  const app = await buildApp(t, { runnables: [worker], options })
  const { result } = await app.rpc('SendMessage', {
    ...sayV1('x'),
    configuration: {
      returnImmediately: true,
      taskPushNotificationConfig: {
        url: `${receiver.url}/hook`,
        token: 'token',
        authentication: { scheme: 'Bearer', credentials: 'mine' }
      }
    }
  })
  const all = await receiver.until(5)
  for (const { path, headers, body } of all) {
    t.equal(path, '/hook')
    t.match(headers, {
      'content-type': 'application/a2a+json',
      authorization: 'Bearer mine',
      'x-a2a-notification-token': 'token'
    })
    t.same(faultsOf('1.0', 'StreamResponse', body), [])
  }
  const { id: taskId } = result.task
  t.match(
    all.map(({ body }) => body),
    [
      { statusUpdate: { taskId, status: { state: 'TASK_STATE_WORKING' } } },
      { artifactUpdate: { artifact: { name: 'say' } } },
      { artifactUpdate: { artifact: { name: 'add' } } },
      {
        artifactUpdate: {
          artifact: { artifactId: 'answer', parts: [{ text: 'It is 3.' }, {}] },
          lastChunk: true
        }
      },
      { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } }
    ]
  )
})

t.test('a receiver of 0.3 gets the task at each change of its state', async (t) => {
  const receiver = await createReceiver(t)
  const app = await buildApp(t, { runnables: [asker], options })
  const { result: task } = await app.rpc('message/send', {
    ...say('x'),
    configuration: { pushNotificationConfig: { url: receiver.url, token: 'token', authentication } }
  })
  await receiver.until(2)
  await app.rpc('message/send', say('deny', { taskId: task.id }))
  const all = await receiver.until(4)
  t.same(
    all.map(({ body }) => body.status.state),
    ['working', 'input-required', 'working', 'completed']
  )
  for (const { headers, body } of all) {
    t.match(headers, {
      'content-type': 'application/json',
      authorization: 'Bearer mine',
      'x-a2a-notification-token': 'token'
    })
    t.same(faultsOf('0.3', 'Task', body), [])
  }
})

t.test('a delivery is repeated if the receiver fails, not if it refuses', async (t) => {
  const failing = await createReceiver(t, (_received, count) => (count < 3 ? 503 : 200))
  const refusing = await createReceiver(t, () => 410)
  const waiting = createWaiting()
  const app = await buildApp(t, { runnables: [waiting.runnable], options })
  const { result } = await app.rpc('SendMessage', {
    ...sayV1('x'),
    configuration: { returnImmediately: true, taskPushNotificationConfig: { url: failing.url } }
  })
  await app.rpc('CreateTaskPushNotificationConfig', { taskId: result.task.id, url: refusing.url })
  const [first, second, third] = await failing.until(3)
  t.same(second!.body, first!.body)
  t.same(third!.body, first!.body)
  waiting.goOn()
  const all = await failing.until(5)
  t.match(all.at(-1)!.body, { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
  const refused = await refusing.until(2)
  t.not(JSON.stringify(refused[0]!.body), JSON.stringify(refused[1]!.body), 'each was sent once')
})

t.test('a removed configuration gets no more pushes; another one with its id replaces it', async (t) => {
  const [first, second, third] = [await createReceiver(t), await createReceiver(t), await createReceiver(t)]
  const waiting = createWaiting()
  const app = await buildApp(t, { runnables: [waiting.runnable], options })
  const send = { ...sayV1('x'), configuration: { returnImmediately: true } }
  const { id: taskId } = (await app.rpc('SendMessage', send)).result.task
  const create = (id: string, url: string) => app.rpc('CreateTaskPushNotificationConfig', { taskId, id, url })
  await create('a', first.url)
  await create('b', second.url)
  await create('b', third.url)
  await app.rpc('DeleteTaskPushNotificationConfig', { taskId, id: 'a' })
  t.match(await app.rpc('ListTaskPushNotificationConfigs', { taskId }), {
    result: { configs: [{ id: 'b', url: third.url }] }
  })
  waiting.goOn()
  const all = await third.until(2)
  t.match(all.at(-1)!.body, { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
  t.same([first.all.length, second.all.length], [0, 0])
})

t.test('push notifications are off by default; a task has at most ten configurations', async (t) => {
  const without = await buildApp(t)
  const { result } = await without.rpc('message/send', say('x'))
  const pushNotificationConfig = { url: 'https://example.org/' }
  t.match(
    await without.rpc('tasks/pushNotificationConfig/set', { taskId: result.id, pushNotificationConfig }),
    {
      error: { code: -32003 }
    }
  )
  t.match(await without.rpc('message/send', { ...say('x'), configuration: { pushNotificationConfig } }), {
    error: { code: -32003 }
  })
  const app = await buildApp(t, { options })
  const { id: taskId } = (await app.rpc('SendMessage', sayV1('x'))).result.task
  const create = (id: string) =>
    app.rpc('CreateTaskPushNotificationConfig', { taskId, id, url: 'http://127.0.0.1/' })
  for (let count = 0; count < 10; count++) t.match(await create(`c${count}`), { result: { id: `c${count}` } })
  t.match(await create('one more'), { error: { code: -32004 } })
})

t.test('a receiver gets every event of a task that ended before its configuration was stored', async (t) => {
  const receiver = await createReceiver(t)
  const stores = createInProcessStores()
  const ended = {
    ...stores.tasks,
    async create(...given: Parameters<typeof stores.tasks.create>) {
      const taskId = await stores.tasks.create(...given)
      while ((await stores.runs.get(taskId))?.status !== 'completed') await pause(1)
      return taskId
    }
  }
  const app = await buildApp(t, { options: { ...options, tasks: ended }, engine: { stores } })
  const configuration = { taskPushNotificationConfig: { url: receiver.url } }
  await app.rpc('SendMessage', { ...sayV1('x'), configuration })
  const all = await receiver.until(3)
  t.match(all[0]!.body, { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } })
  t.match(all[2]!.body, { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
})
