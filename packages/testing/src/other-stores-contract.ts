import { setTimeout as pause } from 'node:timers/promises'
import type {
  CheckpointStore,
  ControlBus,
  ControlMessage,
  CounterStore,
  PushConfig,
  RemoteSessionStore,
  SessionKey,
  TaskStore
} from '@svc/contract'
import { codeOf, HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { storedTask } from './stored-run.ts'

const at = (id: string, endpoint?: string): PushConfig => ({
  id,
  url: 'https://example.org',
  ...(endpoint !== undefined && { endpoint })
})

/** The part of the contract of `TaskStore` about push notifications. */
function pushContract(t: ContractTest, make: MakeStore<TaskStore>): void {
  withStore(t, make, 'keeps push configurations with their task', async (t, store) => {
    await store.create(storedTask('a'), 'm1')
    const config = { ...at('p'), token: 'x', authentication: { schemes: ['Bearer'] } }
    t.equal(await store.setPushConfig('missing', config, 0), 'unknown')
    t.equal(await store.setPushConfig('a', { id: 'p', url: 'https://old.example.org' }, 0), 'stored')
    t.equal(await store.setPushConfig('a', config, 0), 'stored')
    t.same(await store.listPushConfigs('a'), [config])
    t.equal(await store.removePushConfig('a', 'p'), true)
    t.equal(await store.removePushConfig('a', 'p'), false)
    await store.setPushConfig('a', config, 0)
    await store.remove('a')
    t.equal(await store.get('a'), undefined)
    t.same(await store.listPushConfigs('a'), [])
    t.equal(await store.countOpenPushes('ada'), 0)
    t.equal(await store.create(storedTask('a'), 'm1'), 'a', 'the ids of its messages are free again')
  })

  withStore(t, make, 'refuses configurations beyond the limit of a task', async (t, store) => {
    await store.create(storedTask('a'), 'm1')
    const set = async (id: string) => store.setPushConfig('a', at(id), 0, 2)
    const outcomes = await Promise.all(['p', 'q', 'r', 's'].map(set))
    t.same(outcomes.toSorted(), ['full', 'full', 'stored', 'stored'])
    const ids = async () => (await store.listPushConfigs('a')).map(({ id }) => id)
    const kept = await ids()
    for (const id of kept) t.equal(await set(id), 'stored', 'one of them may be replaced')
    t.same(await ids(), kept)
  })

  withStore(t, make, 'counts open pushes, and records what was delivered', async (t, store) => {
    await store.create(storedTask('a'), 'm1')
    await store.create(storedTask('b', { owner: 'bob' }), 'm2')
    const counts = async () => [await store.countOpenPushes('ada'), await store.countOpenPushes('bob')]
    t.same(await counts(), [0, 0])
    await store.setPushConfig('a', at('p'), 0)
    await store.setPushConfig('a', at('q'), null)
    await store.setPushConfig('b', at('q'), 7)
    t.same(await counts(), [1, 1])
    t.equal(await store.recordPush('a', 'p', 3), true)
    t.equal(await store.recordPush('b', 'q', null), true)
    t.same(await counts(), [1, 0])
    t.same(await store.listPushConfigs('b'), [at('q')], 'a completed one stays configured')
    t.equal(await store.holdsPush('b', 'q'), false, 'and has nothing left to deliver')
    await store.setPushConfig('b', at('q'), 9)
    t.equal(await store.holdsPush('b', 'q'), true)
    t.equal(await store.recordPush('b', 'p', 1), false)
    t.equal(await store.recordPush('missing', 'p', 1), false)
    await store.removePushConfig('a', 'p')
    t.equal(await store.recordPush('a', 'p', 4), false, 'a removed one is not restored')
    t.equal(await store.holdsPush('a', 'p'), false)
    t.same(await counts(), [0, 1])
    await store.remove('b')
    t.same(await counts(), [0, 0])
  })

  withStore(t, make, 'open pushes are claimed once', async (t, store) => {
    await store.create(storedTask('a'), 'm1')
    await store.setPushConfig('a', at('p', '/a'), 3)
    await store.setPushConfig('a', at('q', '/b'), 4)
    await store.setPushConfig('a', at('r', '/a'), null)
    await store.setPushConfig('a', at('s'), 5)
    const claim = async (endpoint: string) => store.claimPushes({ endpoint, maxTasks: 9 })
    t.same(await claim('/a'), [], 'who sets a configuration has claimed it')
    await store.releasePushes('/a')
    t.equal(await store.holdsPush('a', 'p'), false)
    t.equal(await store.recordPush('a', 'p', 4), false)
    t.equal(await store.countOpenPushes('ada'), 3)
    t.same(await claim('/b'), [], 'those of another endpoint were not released')
    t.same(await claim('/a'), [{ taskId: 'a', config: at('p', '/a'), pushed: 3 }])
    t.same(await claim('/a'), [])
    t.equal(await store.holdsPush('a', 'p'), true)
    t.equal(await store.recordPush('a', 'p', 6), true)
    await store.releasePushes('/a')
    await store.setPushConfig('a', at('p', '/a'), 1)
    t.same(await claim('/a'), [], 'a new configuration claims too')
  })

  withStore(t, make, 'claims the pushes of some tasks at a time', async (t, store) => {
    const ids = ['p', 'q', 'a b', '["x"]', HOSTILE_TEXT]
    const wanted: string[] = []
    for (let index = 0; index < 7; index++) {
      await store.create(storedTask(`t${index}`), `m${index}`)
      for (const id of ids) {
        await store.setPushConfig(`t${index}`, at(id, '/a'), index === 4 ? null : index)
        if (index !== 4) wanted.push(`t${index} ${index} ${id}`)
      }
    }
    await store.releasePushes('/a')
    const claims = [0, 1, 2].map(async () => store.claimPushes({ endpoint: '/a', maxTasks: 2 }))
    const claimed = (await Promise.all(claims)).map((pushes) =>
      pushes.map(({ taskId, pushed, config }) => `${taskId} ${pushed} ${config.id}`)
    )
    t.same(
      claimed.map(({ length }) => length),
      [10, 10, 10]
    )
    t.same(claimed.flat().toSorted(), wanted.toSorted(), 'each is claimed once')
  })
}

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

const HOUR = 3_600_000

/** The contract of every `CounterStore`. */
export function counterStoreContract(t: ContractTest, make: MakeStore<CounterStore>): void {
  withStore(t, make, 'counts each key, calls at the same time too', async (t, store) => {
    const keys = ['a', 'b', HOSTILE_TEXT, 'x'.repeat(10_000), `${'x'.repeat(10_000)}y`]
    for (const key of keys) {
      const counted = await Promise.all([1, 2, 3].map(async () => store.increment(key, { length: HOUR })))
      t.same(
        counted.map(({ count }) => count).toSorted((a, b) => a - b),
        [1, 2, 3]
      )
      t.ok(counted.every(({ left }) => left > HOUR - 60_000 && left <= HOUR))
    }
    t.equal((await store.increment('a', { length: HOUR })).count, 4)
  })

  withStore(t, make, 'begins again after the end of a window', async (t, store) => {
    const window = { length: 20 }
    await store.increment('a', window)
    const { count, left } = await store.increment('b', { length: HOUR })
    t.equal(count, 1)
    t.ok(left > 1_000, 'another key has its own window')
    for (;;) {
      // Each wait ends a window.
      await pause(40)
      const again = await store.increment('a', window)
      if (again.count === 1) break
    }
    t.equal((await store.increment('b', { length: HOUR })).count, 2)
  })

  withStore(t, make, 'counts beyond a limit extend the window', async (t, store) => {
    const counts = async (key: string, extension: 'restart' | 'double') => {
      const lefts: number[] = []
      for (let count = 0; count < 5; count++) {
        // Later windows are longer than the first.
        const length = count === 0 ? HOUR / 2 : HOUR
        lefts.push((await store.increment(key, { length, max: 2, extension })).left)
      }
      return lefts.map((left) => Math.round((left / HOUR) * 2) / 2)
    }
    t.same(await counts('a', 'restart'), [0.5, 0.5, 1, 1, 1])
    t.same(await counts('b', 'double'), [0.5, 0.5, 1, 2, 4])
    for (let count = 0; count < 80; count++)
      await store.increment('c', { length: HOUR, max: 0, extension: 'double' })
    t.ok((await store.increment('c', { length: HOUR, max: 0, extension: 'double' })).left <= 1e12)
  })
}
