import type { CheckpointStore } from '../contract/ports/checkpoint-store.ts'
import type { ControlBus, ControlMessage } from '../contract/ports/control-bus.ts'
import type { StoredTask, TaskStore } from '../contract/ports/task-store.ts'
import { codeOf, HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'

const task = (taskId: string, fields: Partial<StoredTask> = {}): StoredTask => ({
  taskId,
  contextId: 'c',
  registry: 'global',
  owner: 'ada',
  agentName: 'echo',
  createdAt: 1,
  messages: [{ text: `first of ${taskId}` }],
  ...fields
})

/** The contract of every `TaskStore`. */
export function taskStoreContract(t: ContractTest, make: MakeStore<TaskStore>): void {
  withStore(t, make, 'accepts each message once', async (t, store) => {
    t.equal(await store.create(task('a'), 'm1'), 'a')
    t.equal(await store.create(task('b'), 'm1'), 'a')
    t.equal(await store.get('b'), undefined)
    t.equal(await store.create(task('b', { owner: 'bob' }), 'm1'), 'b', 'owners do not share message ids')
    t.equal(await store.create(task('c', { registry: 'b' }), 'm1'), 'c', 'neither do registries')
    t.equal(await store.addMessage('a', 'm2', { text: 'more' }), true)
    t.equal(await store.addMessage('a', 'm2', { text: 'more' }), false)
    t.equal(await store.addMessage('c', 'm2', { text: 'more' }), true)
    t.equal(await store.addMessage('missing', 'm3', {}), false)
    t.equal(await store.taskOfMessage('global', 'ada', 'm1'), 'a')
    t.equal(await store.taskOfMessage('b', 'ada', 'm1'), 'c')
    t.equal(await store.taskOfMessage('global', 'ada', 'm2'), 'a')
    t.equal(await store.taskOfMessage('global', 'bob', 'm2'), undefined)
    t.equal(await store.taskOfMessage('global', 'ada', 'm3'), undefined)
    t.same(await store.get('a'), task('a', { messages: [{ text: 'first of a' }, { text: 'more' }] }))
  })

  withStore(
    t,
    make,
    'keeps every text unchanged, and distinguishes messages by each character',
    async (t, store) => {
      const [owner, contextId, agentName] = [HOSTILE_TEXT, `c${HOSTILE_TEXT}`, `n${HOSTILE_TEXT}`]
      const kept = task('a', { owner, contextId, agentName, messages: [{ [HOSTILE_TEXT]: HOSTILE_TEXT }] })
      t.equal(await store.create(kept, 'm\u0000'), 'a')
      t.equal(await store.taskOfMessage('global', owner, 'm'), undefined)
      t.equal(await store.taskOfMessage('global', 'a', 'm\u0000'), undefined)
      t.equal(await store.taskOfMessage('global', owner, 'm\u0000'), 'a')
      t.equal(await store.addMessage('a', 'm\u0000n', HOSTILE_TEXT), true)
      const whole = { ...kept, messages: [...kept.messages, HOSTILE_TEXT] }
      t.same(await store.get('a'), whole)
      t.same(await store.lastOfContext(['global'], owner, contextId), whole)
      t.same((await store.list({ owner, contextId, limit: 9 })).tasks, [whole])
      const config = { id: HOSTILE_TEXT, url: 'https://example.org', token: HOSTILE_TEXT }
      await store.setPushConfig('a', config, 0)
      t.same(await store.listPushConfigs('a'), [config])
      t.equal(await store.removePushConfig('a', 'a'), false)
      t.equal(await store.removePushConfig('a', HOSTILE_TEXT), true)
    }
  )

  withStore(t, make, 'lists newest first, in pages, by owner and context', async (t, store) => {
    for (let index = 0; index < 7; index++)
      await store.create(
        task(`t${index}`, { createdAt: index >> 1, contextId: index === 3 ? 'd' : 'c' }),
        `m${index}`
      )
    const first = await store.list({ owner: 'ada', contextId: 'c', limit: 4 })
    t.same(
      first.tasks.map(({ taskId }) => taskId),
      ['t6', 't5', 't4', 't2']
    )
    const second = await store.list({ owner: 'ada', contextId: 'c', limit: 4, cursor: first.nextCursor! })
    t.same(
      second.tasks.map(({ taskId }) => taskId),
      ['t1', 't0']
    )
    t.equal(second.nextCursor, null)
    t.same((await store.list({ owner: 'bob', limit: 4 })).tasks, [])
    t.equal(await codeOf(() => store.list({ limit: 4, cursor: 'x' })), 'REG_ERR_BAD_CURSOR')
    await store.create(task('later', { registry: 'b', createdAt: 9 }), 'later')
    t.equal((await store.lastOfContext(['global'], 'ada', 'c'))?.taskId, 't6')
    t.equal((await store.lastOfContext(['b'], 'ada', 'c'))?.taskId, 'later')
    t.equal((await store.lastOfContext(['global', 'b'], 'ada', 'c'))?.taskId, 'later')
    t.equal(await store.lastOfContext(['other'], 'ada', 'c'), undefined)
    t.equal(await store.lastOfContext(['global'], 'bob', 'c'), undefined)
  })

  withStore(t, make, 'keeps push configurations with their task', async (t, store) => {
    await store.create(task('a'), 'm1')
    const config = {
      id: 'p',
      url: 'https://example.org',
      token: 'x',
      authentication: { schemes: ['Bearer'] }
    }
    t.equal(await store.setPushConfig('missing', config, 0), false)
    t.equal(await store.setPushConfig('a', { id: 'p', url: 'https://old.example.org' }, 0), true)
    t.equal(await store.setPushConfig('a', config, 0), true)
    t.same(await store.listPushConfigs('a'), [config])
    t.equal(await store.removePushConfig('a', 'p'), true)
    t.equal(await store.removePushConfig('a', 'p'), false)
    await store.setPushConfig('a', config, 0)
    await store.remove('a')
    t.equal(await store.get('a'), undefined)
    t.same(await store.listPushConfigs('a'), [])
    t.equal(await store.create(task('a'), 'm1'), 'a', 'the ids of its messages are free again')
  })

  withStore(t, make, 'lists push configurations with undelivered updates', async (t, store) => {
    await store.create(task('a'), 'm1')
    await store.create(task('b', { owner: 'bob' }), 'm2')
    const [p, q] = [
      { id: 'p', url: 'https://example.org', version: '1.0', endpoint: '/a2a' },
      { id: 'q', url: 'https://example.org/q' }
    ]
    const open = async () => {
      const { pushes, nextCursor } = await store.listOpenPushes({ limit: 9 })
      t.equal(nextCursor, null)
      return pushes
    }
    t.same(await open(), [])
    await store.setPushConfig('a', p, 0)
    await store.setPushConfig('a', q, null)
    await store.setPushConfig('b', q, 7)
    t.same(await open(), [
      { taskId: 'a', owner: 'ada', config: p, pushed: 0 },
      { taskId: 'b', owner: 'bob', config: q, pushed: 7 }
    ])
    t.equal(await store.recordPush('a', 'p', 3), true)
    t.equal(await store.recordPush('b', 'q', null), true)
    t.same(await open(), [{ taskId: 'a', owner: 'ada', config: p, pushed: 3 }])
    t.same(await store.listPushConfigs('b'), [q], 'a completed one stays configured')
    await store.setPushConfig('b', q, 9)
    t.equal(await store.recordPush('b', 'p', 1), false)
    t.equal(await store.recordPush('missing', 'p', 1), false)
    await store.removePushConfig('a', 'p')
    t.equal(await store.recordPush('a', 'p', 4), false, 'a removed one is not restored')
    t.same(await open(), [{ taskId: 'b', owner: 'bob', config: q, pushed: 9 }])
    await store.remove('b')
    t.same(await open(), [])
  })

  withStore(t, make, 'lists open pushes in pages, despite changes between two pages', async (t, store) => {
    const ids = ['p', 'q', 'a b', '["x"]', HOSTILE_TEXT]
    const set = async (taskId: string, id: string, pushed: number | null) =>
      store.setPushConfig(taskId, { id, url: 'https://example.org' }, pushed)
    for (let index = 0; index < 10; index++) {
      await store.create(task(`t${index}`), `m${index}`)
      for (const id of ids) await set(`t${index}`, id, index === 4 ? null : index)
    }
    const seen: string[] = []
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await store.listOpenPushes({ limit: 7, ...(cursor !== undefined && { cursor }) })
      t.ok(page.pushes.length <= 7)
      seen.push(...page.pushes.map(({ taskId, config, pushed }) => `${taskId} ${pushed} ${config.id}`))
      if (cursor === undefined) {
        // Changes before the cursor are not seen; changes after it are.
        await store.setPushConfig('t0', { id: 'p', url: 'https://example.org' }, 99)
        await store.recordPush('t9', 'q', null)
        await store.remove('t8')
        await set('t4', 'late', 4)
      }
      cursor = page.nextCursor
    }
    const expected = [0, 1, 2, 3, 5, 6, 7, 9].flatMap((index) => ids.map((id) => `t${index} ${index} ${id}`))
    t.same(
      seen.toSorted(),
      [...expected.filter((each) => each !== 't9 9 q'), 't4 4 late'].toSorted(),
      'each is listed once'
    )
    t.same(await store.listOpenPushes({ limit: 1, cursor: JSON.stringify(['z', '']) }), {
      pushes: [],
      nextCursor: null
    })
    for (const cursor of ['x', '[]', '["a"]', '[1,2]', 'null'])
      t.equal(await codeOf(() => store.listOpenPushes({ limit: 1, cursor })), 'REG_ERR_BAD_CURSOR', cursor)
  })
}

/** The contract of every `CheckpointStore`. */
export function checkpointStoreContract(t: ContractTest, make: MakeStore<CheckpointStore>): void {
  withStore(t, make, 'keeps the latest state, and refuses an older lease', async (t, store) => {
    t.equal(await store.load('r'), undefined)
    t.equal(await store.size('r'), undefined)
    await store.save('r', 1, { step: 1 })
    await store.save('r', 2, { step: '✓', list: [null] })
    t.equal(await codeOf(() => store.save('r', 1, {})), 'RUN_ERR_FENCED')
    await store.save('r', 2, { step: 3, [HOSTILE_TEXT]: HOSTILE_TEXT })
    t.same(await store.load('r'), { epoch: 2, state: { step: 3, [HOSTILE_TEXT]: HOSTILE_TEXT } })
    t.ok(((await store.size('r')) ?? 0) > Buffer.byteLength('{"step":3}'))
    await store.remove('r')
    t.equal(await store.size('r'), undefined)
    t.equal(await store.load('r'), undefined)
  })
}

/** The contract of every `ControlBus`. */
export function controlBusContract(t: ContractTest, make: MakeStore<ControlBus>): void {
  withStore(t, make, 'reaches every listener, the sender included', async (t, bus) => {
    const received: ControlMessage[] = []
    const both = Promise.withResolvers<void>()
    const receive = (message: ControlMessage) => {
      if (received.push(message) === 2) both.resolve()
    }
    const unsubscribe = bus.subscribe(receive)
    const unsubscribeSecond = bus.subscribe((message) => receive(message))
    const message = { type: 'cancel', runId: 'r' } as const
    await bus.publish(message)
    await both.promise
    t.same(received, [message, message])
    unsubscribe()
    unsubscribeSecond()
    await bus.publish(message)
    t.equal(received.length, 2)
  })
}
