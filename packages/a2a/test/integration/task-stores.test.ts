import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import store from '@svc/store'
import t from 'tap'
import { asker, createWaiting } from '../helpers/agents.ts'
import { anyone, buildApp, echo, say, sayV1, type AppRequest } from '../helpers/build-app.ts'

const lookup = async () => [{ address: '93.184.215.14', family: 4 }]
const runnables = [echo, asker]
const YEAR = 31_536_000_000

type Before = NonNullable<AppRequest['before']>
const kinds: [name: string, before: (folder: string) => Before][] = [
  ['memory', () => async () => {}],
  ['SQLite', (folder) => async (app) => app.register(store, { url: `sqlite:${join(folder, 'app.db')}` })]
]

for (const [name, begin] of kinds) {
  t.test(`tasks in ${name}`, async (t) => {
    const app = await buildApp(t, {
      runnables,
      before: begin(t.testdir()),
      options: { authenticate: anyone, pushNotifications: { lookup } }
    })

    await t.test('messages, results and push configurations', async (t) => {
      const { result: task } = await app.rpc('message/send', say('asker', { messageId: 'm1' }))
      const { result: again } = await app.rpc('message/send', say('asker', { messageId: 'm1' }))
      t.equal(again.id, task.id, 'a message is taken once')
      const pushNotificationConfig = { id: 'p', url: 'https://example.org/hook', token: 'x' }
      const made = { taskId: task.id, pushNotificationConfig }
      t.match(await app.rpc('tasks/pushNotificationConfig/set', made), { result: made })
      const { result: done } = await app.rpc('message/send', say('approve', { taskId: task.id }))
      t.match(done, {
        status: { state: 'completed' },
        history: [
          { role: 'user', messageId: 'm1' },
          { role: 'agent' },
          { role: 'user', parts: [{ text: 'approve' }] },
          { role: 'agent' }
        ]
      })
      t.same((await app.rpc('tasks/get', { id: task.id })).result, done)
      t.same((await app.rpc('tasks/pushNotificationConfig/list', { id: task.id })).result, [made])
    })

    await t.test('an id is another message to another task, or with another text', async (t) => {
      const runs = async () => (await app.runs.list({ limit: 1_000 })).runs.length
      const { result: waits } = await app.rpc('message/send', say('asker', { messageId: 'i1' }))
      const answer = (text: string, messageId: string) =>
        app.rpc('message/send', say(text, { messageId, taskId: waits.id }))
      await answer('hm', 'i2')
      const before = await runs()
      await app.rpc('message/send', say('x', { messageId: 'i2' }))
      t.equal(await runs(), before + 1, 'without a task it begins one')
      t.match(await answer('hm?', 'i2'), { result: { history: { length: 4 } } }, 'another text')
      t.match(
        await answer('hm', 'i2'),
        { result: { status: { state: 'input-required' } } },
        'the same is the same'
      )
      t.match(await answer('approve', 'i4'), { result: { status: { state: 'completed' } } })
      t.match(await answer('approve', 'i4'), { result: { status: { state: 'completed' } } }, 'sent again')
    })

    await t.test('the path names the task of a configuration', async (t) => {
      const tasks = await Promise.all(['a', 'b'].map((text) => app.rpc('SendMessage', sayV1(text))))
      const [first, second] = tasks.map(({ result }) => result.task.id as string)
      const response = await fetch(`${app.url}/tasks/${first}/pushNotificationConfigs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ taskId: 'z', task_id: second, id: 'p', url: 'https://example.org/hook' })
      })
      t.match(await response.json(), { taskId: first, id: 'p' })
      const at = `${app.url}/tasks/${second}/pushNotificationConfigs/p`
      t.equal((await fetch(`${at}?taskId=z&task_id=${first}`)).status, 404)
    })

    await t.test('pages, by filters', async (t) => {
      const contextId = 'pages'
      for (const text of ['a', 'b', 'c']) await app.rpc('SendMessage', sayV1(text, { contextId }))
      const seen: string[] = []
      let pageToken: string | undefined
      do {
        const { result } = await app.rpc('ListTasks', { contextId, pageSize: 2, pageToken })
        t.equal(result.totalSize, 3)
        seen.push(
          ...result.tasks.map(
            ({ history }: { history: [{ parts: [{ text: string }] }] }) => history[0].parts[0].text
          )
        )
        pageToken = result.nextPageToken
      } while (pageToken)
      t.same(seen.toSorted(), ['a', 'b', 'c'])
      t.match(await app.rpc('ListTasks', { contextId, status: 'TASK_STATE_FAILED' }), {
        result: { totalSize: 0 }
      })
      t.match(await app.rpc('ListTasks', { contextId, statusTimestampAfter: '2099-01-01T00:00:00Z' }), {
        result: { totalSize: 0 }
      })
      const { result } = await app.rpc('ListTasks', { contextId, pageSize: 1, includeArtifacts: true })
      t.equal(result.tasks[0].artifacts.length, 1)
      t.match(await app.rpc('ListTasks', { contextId, pageToken: 'x' }), {
        error: { code: -32602, message: /pageToken/ }
      })
    })

    await t.test('pages stay complete while their tasks change', async (t) => {
      const contextId = 'changes'
      const send = async (text: string) =>
        (await app.rpc('SendMessage', sayV1(text, { contextId }))).result.task.id as string
      const page = async (pageToken?: string) => {
        const { result } = await app.rpc('ListTasks', { contextId, pageSize: 2, pageToken })
        return { ...result, ids: result.tasks.map(({ id }: { id: string }) => id) }
      }
      const made: string[] = []
      for (const text of ['asker', 'b', 'c', 'asker']) {
        made.push(await send(text))
        await setTimeout(2)
      }
      const first = await page()
      t.same(first.ids, [made[3], made[2]])
      await app.rpc('message/send', say('approve', { taskId: made[3] }))
      const last = await page(first.nextPageToken)
      t.match(last, { ids: [made[1], made[0]], nextPageToken: '', totalSize: 4 })
      await app.rpc('message/send', say('approve', { taskId: made[0] }))
      t.same((await page()).ids, [made[0], made[3]], 'what changed last is first')
    })

    await t.test('a task is removed with its run', async (t) => {
      const { result } = await app.rpc('message/send', say('x', { messageId: 'gone' }))
      const { stores } = app.runs
      t.ok(await stores.tasks.get(result.id))
      await stores.runs.sweep(Date.now() + YEAR)
      t.equal(await stores.tasks.get(result.id), undefined)
      t.match(await app.rpc('tasks/get', { id: result.id }), { error: { code: -32001 } })
      const { result: anew } = await app.rpc('message/send', say('x', { messageId: 'gone' }))
      t.not(anew.id, result.id)
    })
  })
}

t.test('a waiting task keeps its messages while many others come and go', async (t) => {
  const { rpc } = await buildApp(t, { runnables, engine: { retention: { maxRuns: 20 } } })
  const { result: waits } = await rpc('message/send', say('asker', { messageId: 'first' }))
  const others: string[] = []
  for (let n = 0; n < 50; n++) others.push((await rpc('message/send', say('x'))).result.id)
  t.match(await rpc('tasks/get', { id: others[0] }), { error: { code: -32001 } }, 'those that ended went')
  t.match(await rpc('message/send', say('approve', { taskId: waits.id })), {
    result: { status: { state: 'completed' }, history: [{ messageId: 'first' }, {}, {}, {}] }
  })
})

t.test('a message whose run was removed can be sent again', async (t) => {
  const { rpc } = await buildApp(t, {
    runnables,
    engine: { retention: { maxBytes: 100_000 } },
    options: { pushNotifications: { lookup } }
  })
  const pushNotificationConfig = { url: 'https://example.org/hook' }
  const large = { ...say('x'.repeat(30_000), { messageId: 'm1' }), configuration: { pushNotificationConfig } }
  const { result: first } = await rpc('message/send', large)
  for (let n = 0; n < 5; n++) await rpc('message/send', say('x'.repeat(30_000)))
  const { result: again } = await rpc('message/send', large)
  t.equal(again.status.state, 'completed')
  t.not(again.id, first.id)
  t.equal((await rpc('tasks/get', { id: again.id })).result.history[0].messageId, 'm1')
  t.equal((await rpc('tasks/pushNotificationConfig/list', { id: again.id })).result.length, 1)
})

t.test('push configurations are limited', async (t) => {
  const { rpc } = await buildApp(t, { runnables, options: { pushNotifications: { lookup } } })
  const many = {
    url: 'https://example.org/',
    authentication: { schemes: Array.from({ length: 11 }, String) }
  }
  const { result: task } = await rpc('message/send', say('asker'))
  t.match(await rpc('tasks/pushNotificationConfig/set', { taskId: task.id, pushNotificationConfig: many }), {
    error: { code: -32602 }
  })
})

t.test('a task survives a restart', async (t) => {
  const folder = t.testdir()
  const before: Before = async (app) => app.register(store, { url: `sqlite:${join(folder, 'app.db')}` })
  const waiting = createWaiting()
  const first = await buildApp(t, {
    runnables: [echo, waiting.runnable],
    before,
    options: { authenticate: anyone }
  })
  const { result: done } = await first.rpc('message/send', say('Hello', { messageId: 'm1' }))
  const { result: begun } = await first.rpc('message/send', {
    ...say('waiting'),
    configuration: { blocking: false }
  })
  await first.app.close()

  const second = await buildApp(t, { runnables: [echo], before, options: { authenticate: anyone } })
  t.same((await second.rpc('tasks/get', { id: done.id })).result, done)
  t.equal((await second.rpc('message/send', say('Hello', { messageId: 'm1' }))).result.id, done.id)
  const { result: lost } = await second.rpc('message/send', say('x', { contextId: done.contextId }))
  t.equal(lost.contextId, done.contextId)
  t.match(
    await second.rpc('tasks/get', { id: begun.id }),
    { result: { status: { state: 'failed' } } },
    'though its agent is not there any more'
  )
})
