import type { PushConfig, TaskStore } from '@svc/contract'
import { HOSTILE_TEXT, withStore, type ContractTest, type MakeStore } from './contract-test.ts'
import { storedTask } from './stored-run.ts'

const at = (id: string, endpoint?: string): PushConfig => ({
  id,
  url: 'https://example.org',
  ...(endpoint !== undefined && { endpoint })
})

/** The part of the contract of `TaskStore` about push notifications. */
export function pushContract(t: ContractTest, make: MakeStore<TaskStore>): void {
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
