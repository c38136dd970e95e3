import { createInProcessStores, type PushConfig, type RunnableDefinition, type Stores } from '@svc/registry'
import { storedRun, textEntry } from '@svc/testing'
import t from 'tap'
import { createWaiting, worker } from '../helpers/agents.ts'
import { buildApp, echo, sayV1 } from '../helpers/build-app.ts'
import { createReceiver, type Received } from '../helpers/receiver.ts'

const pushNotifications = { allowPrivate: true, backoff: 5, attempts: 1_000 }
const turn = (ms = 1) => new Promise((resolve) => setTimeout(resolve, ms))

const eventsOf = (all: readonly Received[]): string[] =>
  all.map(
    ({ body: { statusUpdate, artifactUpdate, status } }) =>
      statusUpdate?.status.state ?? artifactUpdate?.artifact.artifactId ?? status.state
  )
const openPushes = async ({ tasks }: Pick<Stores, 'tasks'>) => tasks.countOpenPushes('anonymous')

/** A run that a restart interrupted, as a task of the endpoint. */
async function leave(stores: Stores, configs: readonly PushConfig[], owner = 'anonymous'): Promise<string> {
  const run = storedRun({ name: 'waiting', owner, status: 'working' })
  const { runId, sessionId: contextId, registry, name: agentName } = run
  const message = { messageId: 'm', role: 'user', parts: [{ text: 'x' }] }
  await stores.runs.create(run)
  await stores.log.append(runId, 1, [textEntry(1)])
  await stores.tasks.create(
    { taskId: runId, contextId, registry, owner, agentName, createdAt: 1, messages: [message] },
    runId
  )
  for (const config of configs)
    await stores.tasks.setPushConfig(runId, { ...config, version: '1.0', endpoint: '/a2a' }, 1)
  await stores.tasks.releasePushes('/a2a')
  return runId
}

/** Makes the next calls of a method fail. */
function failing<S extends object>(store: S, method: keyof S, times: number): void {
  const works = store[method] as (...args: unknown[]) => unknown
  let left = times
  store[method] = ((...args: unknown[]) => {
    if (left-- > 0) throw new Error(`${String(method)} does not work now`)
    return works.apply(store, args)
  }) as S[keyof S]
}

t.test('a store that fails after a restart is read again, and each receiver is notified once', async (t) => {
  const receiver = await createReceiver(t)
  const stores = createInProcessStores()
  const configs = [0, 1, 2].map((index) => ({ id: `c${index}`, url: `${receiver.url}/${index}` }))
  for (let index = 0; index < 3; index++) await leave(stores, configs)
  const { claimPushes } = stores.tasks
  stores.tasks.claimPushes = (query) => {
    // Runs are recovered first, which takes longer with a failing store.
    failing(stores.runs, 'get', 7)
    failing(stores.log, 'read', 7)
    stores.tasks.claimPushes = claimPushes
    failing(stores.tasks, 'claimPushes', 3)
    return stores.tasks.claimPushes(query)
  }
  failing(stores.tasks, 'recordPush', 5)
  const { app } = await buildApp(t, {
    runnables: [createWaiting().runnable],
    engine: { stores },
    options: { pushNotifications }
  })
  await receiver.until(9)
  while ((await openPushes(stores)) > 0) await turn()
  await app.close()
  t.same(
    receiver.all.map(({ path }) => path).toSorted(),
    ['/0', '/0', '/0', '/1', '/1', '/1', '/2', '/2', '/2'],
    'nothing twice'
  )
  t.ok(eventsOf(receiver.all).every((state) => state === 'TASK_STATE_FAILED'))
})

t.test('configurations that change while a restart is resumed count as they are now', async (t) => {
  const receiver = await createReceiver(t)
  const stores = createInProcessStores()
  const at = (path: string) => ({ id: 'c', url: receiver.url + path })
  const [removed, replaced, kept] = [
    await leave(stores, [at('/removed')]),
    await leave(stores, [at('/old')]),
    await leave(stores, [at('/kept')])
  ]
  const listed = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const { claimPushes } = stores.tasks
  stores.tasks.claimPushes = async (query) => {
    const claimed = await claimPushes(query)
    listed.resolve()
    await goOn.promise
    return claimed
  }
  const { rpc } = await buildApp(t, {
    runnables: [createWaiting().runnable],
    engine: { stores },
    options: { pushNotifications }
  })
  await listed.promise
  t.match(await rpc('DeleteTaskPushNotificationConfig', { taskId: removed, id: 'c' }), { result: {} })
  t.match(await rpc('CreateTaskPushNotificationConfig', { taskId: replaced, ...at('/new') }), {
    result: { url: `${receiver.url}/new` }
  })
  goOn.resolve()
  stores.tasks.claimPushes = claimPushes
  while ((await openPushes(stores)) > 0) await turn()
  await turn(20)
  t.same(
    receiver.all.map(({ path }) => path),
    ['/kept'],
    'of a task that has ended nothing more comes'
  )
  t.ok(await stores.tasks.get(kept))
})

t.test('a receiver that fails in the middle of a part gets the rest of it, and nothing twice', async (t) => {
  const receiver = await createReceiver(t, ({ body }, count) =>
    body.statusUpdate?.status.state === 'TASK_STATE_COMPLETED' && count < 9 ? 503 : 204
  )
  const { rpc } = await buildApp(t, { runnables: [worker], options: { pushNotifications } })
  const configuration = { taskPushNotificationConfig: { url: receiver.url } }
  await rpc('SendMessage', { ...sayV1('x'), configuration })
  await receiver.until(9)
  await turn(20)
  t.same(eventsOf(receiver.all), [
    'TASK_STATE_WORKING',
    'tool-b',
    'tool-a',
    'answer',
    ...Array.from({ length: 5 }, () => 'TASK_STATE_COMPLETED')
  ])
  const [, , , answer] = receiver.all
  t.match(answer!.body.artifactUpdate, {
    artifact: { parts: [{ text: 'It is 3.' }, { data: { sum: 3 } }] },
    lastChunk: true
  })
})

t.test('a task that waits with large arguments is resumed where it was', async (t) => {
  const receivers = { current: await createReceiver(t), legacy: await createReceiver(t) }
  const large: RunnableDefinition = {
    kind: 'agent',
    name: 'large',
    async *stream(_input, { approvals }) {
      yield { type: 'text', text: 'first, ' }
      for (const toolCallId of ['a', 'b'])
        await approvals.request({ toolCallId, toolName: 'write', args: { text: 'x'.repeat(50_000) } })
      yield { type: 'text', text: 'then' }
    }
  }
  const { rpc, runs } = await buildApp(t, { runnables: [large], options: { pushNotifications } })
  const taskPushNotificationConfig = { url: receivers.current.url }
  const { result } = await rpc('SendMessage', {
    ...sayV1('x'),
    configuration: { taskPushNotificationConfig }
  })
  const taskId = result.task.id as string
  await rpc('tasks/pushNotificationConfig/set', {
    taskId,
    pushNotificationConfig: { url: receivers.legacy.url }
  })
  for (const came of [2, 4]) {
    await receivers.current.until(came)
    await receivers.legacy.until(came - 2)
    // Until the readers have caught up.
    await turn(20)
    const { inputs } = (await runs.get(taskId))!
    await runs.answer(inputs.at(-1)!.inputId, { approved: true })
  }
  const [working, asked, done] = ['TASK_STATE_WORKING', 'TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_COMPLETED']
  t.same(eventsOf(await receivers.current.until(7)), [
    working,
    asked,
    working,
    asked,
    working,
    'answer',
    done
  ])
  t.same(eventsOf(await receivers.legacy.until(4)), ['working', 'input-required', 'working', 'completed'])
})

t.test('open configurations are limited per user, not in total', async (t) => {
  const authenticate = ({ token }: { token?: string | undefined }) =>
    token === undefined ? null : { sub: token, scopes: ['*'], claims: {} }
  const url = 'http://127.0.0.1:9/'
  for (const owner of ['ada', 'anonymous']) {
    const stores = createInProcessStores()
    const configs = Array.from({ length: 10 }, (_, index) => ({ id: `c${index}`, url }))
    for (let index = 0; index < 99; index++) await leave(stores, configs, owner)
    const last = await leave(stores, configs, owner)
    const { rpc } = await buildApp(t, {
      runnables: [createWaiting().runnable, echo],
      engine: { stores },
      options: {
        pushNotifications: { ...pushNotifications, backoff: 60_000 },
        ...(owner === 'ada' && { authenticate })
      }
    })
    const as = (token: string) => ({ authorization: `Bearer ${token}` })
    const add = async () =>
      (await rpc('CreateTaskPushNotificationConfig', { taskId: last, url }, as('ada'))).error?.message
    const configuration = { taskPushNotificationConfig: { url } }
    const send = (token: string) => rpc('SendMessage', { ...sayV1('echo'), configuration }, as(token))
    if (owner === 'anonymous') {
      t.match(await add(), /a task has at most 10/)
      t.match(await send('ada'), { result: {} })
      continue
    }
    t.match(await add(), /of one user .* at most 1000/, 'those of before the restart count')
    const { totalSize } = (await rpc('ListTasks', {}, as('ada'))).result
    t.match(await send('ada'), { error: { code: -32004 } })
    t.equal((await rpc('ListTasks', {}, as('ada'))).result.totalSize, totalSize, 'nothing was started')
    t.match(await send('bob'), { result: {} }, 'others have their own')
  }
})
