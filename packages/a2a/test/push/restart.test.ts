import { join } from 'node:path'
import { createInProcessStores, createRegistry, type RunnableDefinition, type Stores } from '@svc/registry'
import { entryFromJson } from '@svc/contract/stores'
import { storedRun, textEntry } from '@svc/testing'
import store from '@svc/store'
import t from 'tap'
import { createWaiting, worker } from '../helpers/agents.ts'
import { buildApp, say, sayV1, type AppRequest, type TestApp } from '../helpers/build-app.ts'
import { createReceiver, type Received } from '../helpers/receiver.ts'

const pushNotifications = { allowPrivate: true, backoff: 5, attempts: 1_000 }

/** Starts a service repeatedly, on one database file. */
function createService(t: { testdir(): string; teardown(fn: () => unknown): unknown }) {
  const url = `sqlite:${join(t.testdir(), 'app.db')}`
  return (request: AppRequest) =>
    buildApp(t, {
      before: async (app) => app.register(store, { url }),
      ...request,
      options: { pushNotifications, ...request.options }
    })
}

/** An agent that continues after a restart once it is released. */
function createResumable() {
  let reached = Promise.withResolvers<void>()
  let held = true
  const runnable: RunnableDefinition = {
    kind: 'agent',
    name: 'lasting',
    resumable: true,
    async *stream(_input, { signal }) {
      yield { type: 'text', text: 'half, ' }
      reached.resolve()
      if (held)
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error))
        )
      yield { type: 'text', text: 'whole' }
    }
  }
  return {
    runnable,
    reached: () => reached.promise,
    letGo() {
      held = false
      reached = Promise.withResolvers()
    }
  }
}

const openPushes = async ({ tasks }: Pick<Stores, 'tasks'>) => tasks.countOpenPushes('anonymous')

/** Resolves once the delivery of a notification is recorded. */
function untilRecorded({ tasks }: Pick<Stores, 'tasks'>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { recordPush } = tasks
  tasks.recordPush = async (...args) => {
    const isRecorded = await recordPush(...args)
    resolve()
    return isRecorded
  }
  return promise
}
const eventsOf = (all: Received[]) =>
  all.map(
    ({ body: { statusUpdate, artifactUpdate } }) =>
      statusUpdate?.status.state ?? artifactUpdate.artifact.artifactId
  )
const statesOf = (all: Received[]) => all.map(({ body }) => body.status.state)
const send = (url: string) => ({
  ...sayV1('x'),
  configuration: { returnImmediately: true, taskPushNotificationConfig: { id: 'p', url, token: 'mine' } }
})

t.test('the receiver of a resumed task gets the rest, and nothing twice', async (t) => {
  const current = await createReceiver(t)
  const legacy = await createReceiver(t)
  const begin = createService(t)
  const lasting = createResumable()
  const first = await begin({ runnables: [lasting.runnable] })
  const recorded = untilRecorded(first.runs.stores)
  const { result } = await first.rpc('SendMessage', send(current.url))
  await first.rpc('tasks/pushNotificationConfig/set', {
    taskId: result.task.id,
    pushNotificationConfig: { url: legacy.url }
  })
  await lasting.reached()
  await current.until(1)
  // Progress is recorded after the delivery.
  await recorded
  await close(first)

  lasting.letGo()
  const second = await begin({ runnables: [lasting.runnable] })
  await current.until(3)
  await legacy.until(1)
  t.same(eventsOf(current.all), ['TASK_STATE_WORKING', 'answer', 'TASK_STATE_COMPLETED'])
  t.match(current.all.at(1)!.body.artifactUpdate.artifact.parts, [{ text: /half, whole$/ }])
  t.ok(current.all.every(({ headers }) => headers['x-a2a-notification-token'] === 'mine'))
  t.same(statesOf(legacy.all), ['completed'], 'as its version has it')
  t.match(await second.rpc('ListTaskPushNotificationConfigs', { taskId: result.task.id }), {
    result: { configs: { length: 2 } }
  })
  while ((await openPushes(second.runs.stores)) > 0) await turn()
  await close(second)

  await begin({ runnables: [lasting.runnable] })
  await turn(50)
  t.same([current.all.length, legacy.all.length], [3, 1], 'what was told everything is not told again')
})

t.test('the receiver of a task that a restart ended learns so', async (t) => {
  let isAway = true
  const current = await createReceiver(t, () => (isAway ? 503 : 204))
  const legacy = await createReceiver(t, () => (isAway ? 503 : 204))
  const begin = createService(t)
  const waiting = createWaiting()
  const first = await begin({ runnables: [waiting.runnable] })
  await first.rpc('SendMessage', send(current.url))
  await first.rpc('message/send', {
    ...say('x'),
    configuration: { blocking: false, pushNotificationConfig: { url: legacy.url } }
  })
  await current.until(1)
  await legacy.until(1)
  await close(first)
  const [before, legacyBefore] = [current.all.length, legacy.all.length]

  isAway = false
  const second = await begin({ runnables: [waiting.runnable] })
  await current.until(before + 2)
  await legacy.until(legacyBefore + 2)
  t.same(eventsOf(current.all.slice(before)), ['TASK_STATE_WORKING', 'TASK_STATE_FAILED'])
  t.same(statesOf(legacy.all.slice(legacyBefore)), ['working', 'failed'])
  t.match((await second.rpc('ListTasks', {})).result.tasks, [
    { status: { state: 'TASK_STATE_FAILED' } },
    { status: { state: 'TASK_STATE_FAILED' } }
  ])
})

t.test('the receiver of a task that a crash interrupted learns of its end', async (t) => {
  const receiver = await createReceiver(t)
  const stores = createInProcessStores()
  const run = storedRun({ name: 'waiting', owner: 'anonymous', status: 'working' })
  const { runId, sessionId: contextId, owner, name: agentName } = run
  const started = {
    seq: 1,
    at: 1,
    type: 'start',
    runId,
    sessionId: contextId,
    kind: 'agent',
    name: agentName
  }
  await stores.runs.create(run)
  await stores.log.append(runId, 1, [entryFromJson(1, JSON.stringify(started)), textEntry(2)])
  await stores.tasks.create(
    { taskId: runId, contextId, registry: 'global', owner, agentName, createdAt: 1, messages: [] },
    'm'
  )
  const config = { url: receiver.url, version: '1.0', endpoint: '/a2a' }
  await stores.tasks.setPushConfig(runId, { id: 'first', ...config }, 1)
  await stores.tasks.setPushConfig(runId, { id: 'second', ...config }, 2)
  await stores.tasks.releasePushes('/a2a')
  await buildApp(t, {
    runnables: [createWaiting().runnable],
    engine: { stores },
    options: { pushNotifications }
  })
  await receiver.until(2)
  t.same(eventsOf(receiver.all), ['TASK_STATE_FAILED', 'TASK_STATE_FAILED'])
  while ((await openPushes(stores)) > 0) await turn()
})

t.test('an endpoint with another registry pushes no tasks of the former one', async (t) => {
  const [own, other] = [await createReceiver(t), await createReceiver(t)]
  const stores = createInProcessStores()
  for (const [registry, { url }] of [
    ['before', other],
    ['now', own]
  ] as const) {
    const run = storedRun({ registry, owner: 'anonymous', status: 'working' })
    const { runId, sessionId: contextId, owner, name: agentName } = run
    await stores.runs.create(run)
    await stores.tasks.create(
      { taskId: runId, contextId, registry, owner, agentName, createdAt: 1, messages: [] },
      registry
    )
    await stores.tasks.setPushConfig(runId, { id: 'p', url, version: '1.0', endpoint: '/a2a' }, 0)
  }
  await stores.tasks.releasePushes('/a2a')
  const app = await buildApp(t, {
    runnables: [],
    engine: { stores },
    options: { pushNotifications, registry: createRegistry({ id: 'now' }) }
  })
  await own.until(1)
  t.same(eventsOf(own.all), ['TASK_STATE_FAILED'])
  while ((await openPushes(stores)) > 1) await turn()
  await close(app)
  t.same(other.all, [])
})

t.test('a receiver gets the rest of a task that ended before the restart', async (t) => {
  let isAway = false
  const receiver = await createReceiver(t, () => (isAway ? 503 : 204))
  const begin = createService(t)
  const first = await begin({ runnables: [worker] })
  isAway = true
  const { result } = await first.rpc('SendMessage', send(receiver.url))
  await receiver.until(1)
  while ((await first.rpc('GetTask', { id: result.task.id })).result.status.state !== 'TASK_STATE_COMPLETED')
    await turn()
  await close(first)
  const before = receiver.all.length
  isAway = false
  await begin({ runnables: [worker] })
  await receiver.until(before + 5)
  t.same(eventsOf(receiver.all.slice(before)), [
    'TASK_STATE_WORKING',
    'tool-b',
    'tool-a',
    'answer',
    'TASK_STATE_COMPLETED'
  ])
})

t.test('configurations that were removed, or belong to another endpoint, are not resumed', async (t) => {
  let isAway = true
  const answer = () => (isAway ? 503 : 204)
  const [kept, removed] = [await createReceiver(t, answer), await createReceiver(t, answer)]
  const begin = createService(t)
  const waiting = createWaiting()
  const options = (basePath: string, more = {}) => ({
    options: { basePath, ...more },
    runnables: [waiting.runnable]
  })
  const first = await begin(options('/a'))
  const { result } = await first.rpc('SendMessage', send(kept.url))
  const taskId = result.task.id as string
  await first.rpc('CreateTaskPushNotificationConfig', { taskId, id: 'q', url: removed.url })
  await first.rpc('DeleteTaskPushNotificationConfig', { taskId, id: 'q' })
  await kept.until(1)
  await close(first)
  const before = kept.all.length

  isAway = false
  // Its rules differ from those that accepted the URL.
  const second = await begin(options('/b', { pushNotifications: true }))
  await turn(50)
  t.equal(kept.all.length, before)
  await close(second)
  const third = await begin(options('/a', { pushNotifications: false }))
  await turn(50)
  t.equal(kept.all.length, before)
  await close(third)
  await begin(options('/a'))
  await kept.until(before + 2)
  t.same(eventsOf(kept.all.slice(before)), ['TASK_STATE_WORKING', 'TASK_STATE_FAILED'])
  t.same(removed.all, [])
})

t.test('a late configuration gets what follows, after a restart too', async (t) => {
  let isAway = true
  const receiver = await createReceiver(t, () => (isAway ? 503 : 204))
  const begin = createService(t)
  const waiting = createWaiting()
  const first = await begin({ runnables: [waiting.runnable] })
  const { result } = await first.rpc('SendMessage', {
    ...sayV1('x'),
    configuration: { returnImmediately: true }
  })
  await waiting.reached()
  await first.rpc('CreateTaskPushNotificationConfig', { taskId: result.task.id, url: receiver.url })
  await close(first)
  isAway = false
  await begin({ runnables: [waiting.runnable] })
  await receiver.until(1)
  await turn(50)
  t.same(eventsOf(receiver.all).at(-1), 'TASK_STATE_FAILED')
  t.notOk(eventsOf(receiver.all).includes('TASK_STATE_WORKING'))
})

/** Waits until notifications that were under way at the close have arrived. */
async function close({ app }: TestApp): Promise<void> {
  await app.close()
  await turn(30)
}

function turn(ms = 1): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
