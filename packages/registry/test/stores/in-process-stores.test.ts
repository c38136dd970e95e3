import { createInProcessStores, createRunEngine, type Stores } from '@svc/registry'
import {
  checkpointStoreContract,
  controlBusContract,
  counterStoreContract,
  erasureContract,
  createTestCluster,
  fileStoreContract,
  memoryRetentionContract,
  memoryStoreContract,
  remoteSessionStoreContract,
  runQueueContract,
  scheduleStoreContract,
  runStoreContract,
  keptTurnContract,
  runFenceContract,
  sessionForkContract,
  sessionIndexContract,
  sessionStoreContract,
  sessionTreeContract,
  storedRun,
  taskStoreContract,
  textEntry,
  twoStoresContract,
  webhookStoreContract
} from '@svc/testing'
import t from 'tap'

const fresh =
  <K extends keyof Stores>(port: K) =>
  async () =>
    createInProcessStores()[port]

t.test('runs and their logs', async (t) => runStoreContract(t, async () => createInProcessStores()))
t.test('queued runs', async (t) =>
  runQueueContract(t, async () => {
    const { queue, ...stores } = createInProcessStores()
    return { ...stores, queue: queue! }
  })
)
t.test('schedules', async (t) =>
  scheduleStoreContract(t, async () => {
    const { queue, schedules, ...stores } = createInProcessStores()
    return { ...stores, queue: queue!, schedules: schedules! }
  })
)
t.test('webhooks', async (t) =>
  webhookStoreContract(t, async () => {
    const { webhooks, ...stores } = createInProcessStores()
    return { ...stores, webhooks: webhooks! }
  })
)
t.test('sessions', async (t) => sessionStoreContract(t, fresh('sessions')))
t.test('the list of sessions', async (t) =>
  sessionIndexContract(t, async () => {
    const { sessionIndex, ...stores } = createInProcessStores()
    return { ...stores, sessionIndex: sessionIndex! }
  })
)
t.test('the tree of turns', async (t) =>
  sessionTreeContract(t, async () => {
    const { sessionIndex, ...stores } = createInProcessStores()
    return { ...stores, sessionIndex: sessionIndex! }
  })
)
t.test('forks', async (t) =>
  sessionForkContract(t, async () => {
    const { sessionIndex, ...stores } = createInProcessStores()
    return { ...stores, sessionIndex: sessionIndex! }
  })
)
t.test('turns of suspended runs', async (t) => keptTurnContract(t, async () => createInProcessStores()))
t.test('what runs write', async (t) => runFenceContract(t, async () => createInProcessStores()))
t.test('what belongs to a session or a person', async (t) =>
  erasureContract(t, async () => createRunEngine().stores)
)
t.test('sessions at other services', async (t) =>
  remoteSessionStoreContract(t, async () => createInProcessStores().remoteSessions!)
)
t.test('counters', async (t) =>
  counterStoreContract(t, async () => createTestCluster().join().stores.counters!)
)
t.test('nodes of a test', async (t) =>
  twoStoresContract(t, async () => {
    const cluster = createTestCluster()
    const [first, second] = [cluster.join(), cluster.join()]
    return {
      first: first.stores,
      second: second.stores,
      async declareDead() {
        first.declareDead()
        void first.regainContact()
      }
    }
  })
)
t.test('memory', async (t) => memoryStoreContract(t, fresh('memory')))
t.test('retention of memories', async (t) =>
  memoryRetentionContract(t, async (retention) => createInProcessStores(retention).memory)
)
t.test('tasks', async (t) => taskStoreContract(t, fresh('tasks')))
t.test('checkpoints', async (t) => checkpointStoreContract(t, fresh('checkpoints')))
t.test('files', async (t) =>
  fileStoreContract(
    t,
    async () => createInProcessStores().files!,
    (fileMaxBytes) => async () => createInProcessStores({ fileMaxBytes }).files!
  )
)
t.test('control', async (t) => controlBusContract(t, fresh('control')))

t.test(
  'memories in memory have a total limit: the least recently written namespace is dropped',
  async (t) => {
    const { memory } = createInProcessStores({ memoryMaxItems: 2 })
    const put = async (owner: string, id: string) =>
      memory.put({ owner, id, namespace: 'n', text: 'x', createdAt: 1 })
    await put('first', 'a')
    for (let n = 0; n < 9; n++) for (const id of ['a', 'b']) await put(`owner${n}`, id)
    await put('first', 'b')
    await put('owner0', 'b')
    t.equal((await memory.list('owner1', 'n', 9)).length, 2)
    await put('new', 'a')
    t.same(await memory.list('owner1', 'n', 9), [])
    await put('new', 'b')
    await put('newer', 'a')
    t.same(await memory.list('owner2', 'n', 9), [], 'one more than ten full ones goes again')
    t.equal((await memory.list('owner3', 'n', 9)).length, 2)
    for (const owner of ['first', 'owner0']) t.equal((await memory.list(owner, 'n', 9)).length, 2, owner)
  }
)

t.test('files of ended runs go for newer ones, those of active runs stay', async (t) => {
  const { runs, log, files } = createInProcessStores({ fileMaxBytes: 100 })
  const [active, first, second] = [storedRun(), storedRun(), storedRun()]
  for (const run of [active, first, second]) await runs.create(run)
  const put = async (runId: string, size: number) =>
    (await files!.put(runId, { mimeType: 'a/b', content: new Uint8Array(size) })).fileId
  const kept = [active, first, second]
  const ids = await Promise.all(kept.map(({ runId }) => put(runId, 30)))
  const left = async () =>
    Promise.all(kept.map(async ({ runId }, index) => (await files!.get(runId, ids[index]!)) !== undefined))
  await t.rejects(async () => put(active.runId, 20), { code: 'RUN_ERR_FILE_LIMIT' }, 'all are active')
  for (const { runId } of [first, second])
    await log.append(runId, 1, [textEntry(1)], { status: 'completed', at: 1 })
  await t.rejects(async () => put(active.runId, 71), { code: 'RUN_ERR_FILE_LIMIT' })
  t.same(await left(), [true, true, true], 'nothing goes for a file that does not fit')
  await put(active.runId, 40)
  t.same(await left(), [true, false, true], 'the oldest goes first')
})

t.test('push configurations count towards the size of tasks', async (t) => {
  const { tasks } = createInProcessStores({ taskMaxBytes: 100_000 })
  const config = { id: 'p', url: 'https://example.org/', token: 'x'.repeat(4_000) }
  for (let n = 0; n < 50; n++) {
    const taskId = `t${n}`
    await tasks.create(
      { taskId, contextId: 'c', registry: 'global', owner: 'o', agentName: 'a', createdAt: n, messages: [] },
      `m${n}`
    )
    await tasks.setPushConfig(taskId, config, null)
  }
  const left = (await tasks.list({ limit: 100 })).tasks
  t.ok(left.length > 10 && left.length < 25, String(left.length))
  t.equal(left[0]?.taskId, 't49')
  for (const { taskId } of left) await tasks.removePushConfig(taskId, 'p')
  for (let n = 50; n < 100; n++) {
    const taskId = `t${n}`
    await tasks.create(
      { taskId, contextId: 'c', registry: 'global', owner: 'o', agentName: 'a', createdAt: n, messages: [] },
      `m${n}`
    )
  }
  t.equal((await tasks.list({ limit: 100 })).tasks.length, left.length + 50, 'without one they are light')
})
