import type {
  CheckpointStore,
  ControlBus,
  ControlMessage,
  RemoteSessionStore,
  SessionKey,
  TaskStore
} from '@svc/contract'
import { codeOf, HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { pushContract } from './push-contract.ts'
import { storedTask } from './stored-run.ts'

/** The contract of every `TaskStore`. */
export function taskStoreContract(t: ContractTest, make: MakeStore<TaskStore>): void {
  withStore(t, make, 'accepts each message once', async (t, store) => {
    t.equal(await store.create(storedTask('a'), 'm1'), 'a')
    t.equal(await store.create(storedTask('b'), 'm1'), 'a')
    t.equal(await store.get('b'), undefined)
    t.equal(
      await store.create(storedTask('b', { owner: 'bob' }), 'm1'),
      'b',
      'owners do not share message ids'
    )
    t.equal(await store.create(storedTask('c', { registry: 'b' }), 'm1'), 'c', 'neither do registries')
    t.equal(await store.addMessage('a', 'm2', { text: 'more' }), true)
    t.equal(await store.addMessage('a', 'm2', { text: 'more' }), false)
    t.equal(await store.addMessage('c', 'm2', { text: 'more' }), true)
    t.equal(await store.addMessage('missing', 'm3', {}), false)
    t.equal(await store.taskOfMessage('global', 'ada', 'm1'), 'a')
    t.equal(await store.taskOfMessage('b', 'ada', 'm1'), 'c')
    t.equal(await store.taskOfMessage('global', 'ada', 'm2'), 'a')
    t.equal(await store.taskOfMessage('global', 'bob', 'm2'), undefined)
    t.equal(await store.taskOfMessage('global', 'ada', 'm3'), undefined)
    t.same(await store.get('a'), storedTask('a', { messages: [{ text: 'first of a' }, { text: 'more' }] }))
  })

  withStore(
    t,
    make,
    'keeps every text unchanged, and distinguishes messages by each character',
    async (t, store) => {
      const [owner, contextId, agentName] = [HOSTILE_TEXT, `c${HOSTILE_TEXT}`, `n${HOSTILE_TEXT}`]
      const kept = storedTask('a', {
        owner,
        contextId,
        agentName,
        messages: [{ [HOSTILE_TEXT]: HOSTILE_TEXT }]
      })
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
        storedTask(`t${index}`, { createdAt: index >> 1, contextId: index === 3 ? 'd' : 'c' }),
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
    await store.create(storedTask('later', { registry: 'b', createdAt: 9 }), 'later')
    t.equal((await store.lastOfContext(['global'], 'ada', 'c'))?.taskId, 't6')
    t.equal((await store.lastOfContext(['b'], 'ada', 'c'))?.taskId, 'later')
    t.equal((await store.lastOfContext(['global', 'b'], 'ada', 'c'))?.taskId, 'later')
    t.equal(await store.lastOfContext(['other'], 'ada', 'c'), undefined)
    t.equal(await store.lastOfContext(['global'], 'bob', 'c'), undefined)
  })

  pushContract(t, make)
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

/** The contract of every `RemoteSessionStore`. */
export function remoteSessionStoreContract(t: ContractTest, make: MakeStore<RemoteSessionStore>): void {
  withStore(t, make, 'keeps the conversation of each session at each service', async (t, store) => {
    const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'far', sessionId: 's' }
    const keys = [
      key,
      { ...key, owner: 'bob' },
      { ...key, sessionId: HOSTILE_TEXT },
      { ...key, registry: 'b' }
    ]
    for (const [index, each] of keys.entries()) {
      t.equal(await store.load(each, 'x'), undefined)
      await store.save(each, 'x', { contextId: `c${index}` })
      await store.save(each, 'y', { contextId: HOSTILE_TEXT, taskId: `t${index}` })
    }
    for (const [index, each] of keys.entries()) {
      t.same(await store.load(each, 'x'), { contextId: `c${index}` })
      t.same(await store.load(each, 'y'), { contextId: HOSTILE_TEXT, taskId: `t${index}` })
    }
    await store.save(key, 'y', { contextId: 'next' })
    t.same(await store.load(key, 'y'), { contextId: 'next' }, 'the task does not wait any more')
    await store.remove(key, 'x')
    await store.remove(key, 'x')
    t.equal(await store.load(key, 'x'), undefined)
    t.same(await store.load(key, 'y'), { contextId: 'next' })
    t.same(await store.load(keys[1]!, 'x'), { contextId: 'c1' })
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
