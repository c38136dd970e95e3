import type { TaskStore } from '@svc/contract'
import { storedTask } from '../stored-run.ts'
import type { TestTwoStores } from './two-stores.ts'

const config = { id: 'p', url: 'https://example.org', endpoint: '/a' }
const claim = async ({ claimPushes }: TaskStore) => claimPushes({ endpoint: '/a', maxTasks: 9 })

/** The part of the contract about A2A tasks that several nodes serve. */
export function sharedTaskContract(test: TestTwoStores): void {
  test('a message that both nodes receive is of one task', async (t, { first, second }) => {
    const each = Array.from({ length: 20 }, (_, index) => index)
    const nodeOf = (index: number) => (index % 2 === 0 ? first.tasks : second.tasks)
    const created = await Promise.all(
      each.map(async (index) => nodeOf(index).create(storedTask(`t${index}`), 'm'))
    )
    t.equal(new Set(created).size, 1)
    const [taskId = ''] = created
    const added = await Promise.all(
      each.map(async (index) => nodeOf(index).addMessage(taskId, 'next', { index }))
    )
    t.equal(added.filter(Boolean).length, 1)
    t.equal((await second.tasks.get(taskId))?.messages.length, 2)
  })

  test('a task has at most so many push configurations, whichever nodes add them', async (t, {
    first,
    second
  }) => {
    await first.tasks.create(storedTask('a'), 'm')
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async (_, index) =>
        (index % 2 === 0 ? first : second).tasks.setPushConfig('a', { ...config, id: `${index}` }, 0, 5)
      )
    )
    t.equal(outcomes.filter((outcome) => outcome === 'stored').length, 5)
    t.equal(await second.tasks.countOpenPushes('ada'), 5)
  })

  test('one node delivers the notifications of a push configuration', async (t, { first, second }) => {
    await first.tasks.create(storedTask('a'), 'm')
    await first.tasks.setPushConfig('a', config, 1)
    t.same(await claim(second.tasks), [], 'the node that set it delivers')
    t.equal(await second.tasks.recordPush('a', 'p', 2), false)
    t.equal(await first.tasks.recordPush('a', 'p', 3), true)
    await second.tasks.setPushConfig('a', config, 4)
    t.equal(await first.tasks.holdsPush('a', 'p'), false, 'another node replaced it')
    t.equal(await first.tasks.recordPush('a', 'p', 5), false)
    t.equal(await second.tasks.holdsPush('a', 'p'), true)
    await first.tasks.removePushConfig('a', 'p')
    t.equal(await second.tasks.holdsPush('a', 'p'), false, 'another node removed it')
  })

  test('the notifications of a dead node are claimed by one other', async (t, {
    first,
    second,
    declareDead
  }) => {
    await first.tasks.create(storedTask('a'), 'm')
    await first.tasks.setPushConfig('a', config, 1)
    await first.tasks.recordPush('a', 'p', 7)
    await declareDead()
    t.same(await claim(second.tasks), [{ taskId: 'a', config, pushed: 7 }])
    t.same(await claim(second.tasks), [])
    t.equal(await first.tasks.holdsPush('a', 'p'), false)
    t.equal(await first.tasks.recordPush('a', 'p', 8), false)
    t.equal(await second.tasks.recordPush('a', 'p', 9), true)
    await second.tasks.releasePushes('/a')
    t.same(await claim(second.tasks), [{ taskId: 'a', config, pushed: 9 }], 'a node may give it up')
  })
}
