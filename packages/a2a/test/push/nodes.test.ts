import { createTestCluster, type TestNode } from '@svc/testing'
import t, { type Test } from 'tap'
import { createWaiting, worker } from '../helpers/agents.ts'
import { buildApp, sayV1, type AppRequest, type TestApp } from '../helpers/build-app.ts'
import { createReceiver, type Received } from '../helpers/receiver.ts'

/** Two nodes of a service. */
async function buildNodes(
  t: Test,
  runnables: NonNullable<AppRequest['runnables']>,
  backoff = 5
): Promise<[TestApp & TestNode, TestApp & TestNode]> {
  const { join } = createTestCluster()
  const pushNotifications = { allowPrivate: true, backoff, attempts: 1_000 }
  const build = async () => {
    const node = join()
    const request = { runnables, engine: { stores: node.stores }, options: { pushNotifications } }
    return { ...node, ...(await buildApp(t, request)) }
  }
  return [await build(), await build()]
}

const send = (url: string) => ({
  ...sayV1('x'),
  configuration: { returnImmediately: true, taskPushNotificationConfig: { id: 'p', url } }
})
const eventsOf = (all: readonly Received[]) =>
  all.map(
    ({ body: { statusUpdate, artifactUpdate } }) =>
      statusUpdate?.status.state ?? artifactUpdate.artifact.artifactId
  )
const untilDelivered = async ({ stores }: TestNode) => {
  while ((await stores.tasks.countOpenPushes('anonymous')) > 0) await new Promise(setImmediate)
}

/** Two nodes, a task that has ended on the first, and a receiver that has refused its first notification. */
async function buildUndelivered(t: Test) {
  let isAway = true
  const receiver = await createReceiver(t, () => (isAway ? 503 : 204))
  // The first node does not try again while the test lasts.
  const [first, second] = await buildNodes(t, [worker], 600_000)
  const { result } = await first.rpc('SendMessage', send(receiver.url))
  await receiver.until(1)
  for await (const _ of first.runs.parts(result.task.id as string));
  isAway = false
  return { receiver, first, second }
}

t.test('one of two nodes sends the notifications of a task', async (t) => {
  const receiver = await createReceiver(t)
  const waiting = createWaiting()
  const [first, second] = await buildNodes(t, [waiting.runnable])
  const { result } = await first.rpc('SendMessage', send(receiver.url))
  await second.rpc('CreateTaskPushNotificationConfig', {
    taskId: result.task.id,
    id: 'q',
    url: `${receiver.url}/second`
  })
  await waiting.reached()
  waiting.goOn()
  await untilDelivered(first)
  const [of, ofSecond] = [
    receiver.all.filter(({ path }) => path === '/'),
    receiver.all.filter(({ path }) => path !== '/')
  ]
  t.same(eventsOf(of), ['TASK_STATE_WORKING', 'answer', 'TASK_STATE_COMPLETED'])
  t.same(eventsOf(ofSecond).slice(-2), ['answer', 'TASK_STATE_COMPLETED'])
})

t.test('a configuration that is removed on another node gets nothing more', async (t) => {
  const receiver = await createReceiver(t)
  const waiting = createWaiting()
  const [first, second] = await buildNodes(t, [waiting.runnable])
  const { result } = await first.rpc('SendMessage', send(receiver.url))
  await receiver.until(1)
  await second.rpc('DeleteTaskPushNotificationConfig', { taskId: result.task.id, id: 'p' })
  waiting.goOn()
  for await (const _ of second.runs.parts(result.task.id as string));
  await first.app.close()
  t.same(eventsOf(receiver.all), ['TASK_STATE_WORKING'])
})

t.test('a configuration that is replaced on another node is delivered from there', async (t) => {
  const receiver = await createReceiver(t)
  const waiting = createWaiting()
  const [first, second] = await buildNodes(t, [waiting.runnable])
  const { result } = await first.rpc('SendMessage', send(`${receiver.url}/old`))
  await receiver.until(1)
  const url = `${receiver.url}/new`
  await second.rpc('CreateTaskPushNotificationConfig', { taskId: result.task.id, id: 'p', url })
  waiting.goOn()
  await untilDelivered(first)
  await first.app.close()
  t.same(
    receiver.all.map(({ path }) => path),
    ['/old', '/new', '/new']
  )
})

t.test('another node continues the notifications of a node that died', async (t) => {
  const { receiver, first, second } = await buildUndelivered(t)
  first.declareDead()
  await untilDelivered(second)
  const wanted = ['TASK_STATE_WORKING', 'tool-b', 'tool-a', 'answer', 'TASK_STATE_COMPLETED']
  t.same(eventsOf(receiver.all.slice(1)), wanted)

  await first.regainContact()
  const { result: later } = await first.rpc('SendMessage', send(receiver.url))
  await untilDelivered(first)
  t.match((await second.rpc('GetTask', { id: later.task.id })).result, {
    status: { state: 'TASK_STATE_COMPLETED' }
  })
  t.same(eventsOf(receiver.all.slice(6)), wanted, 'the first node joined again')
})

t.test('another node continues the notifications of a node that departed', async (t) => {
  const { receiver, first, second } = await buildUndelivered(t)
  await first.app.close()
  await untilDelivered(second)
  t.equal(receiver.all.length, 6)
})
