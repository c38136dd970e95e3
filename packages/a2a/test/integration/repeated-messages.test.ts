import t from 'tap'
import { asker, createWaiting } from '../helpers/agents.ts'
import { anyone, buildApp, echo, say, sayV1 } from '../helpers/build-app.ts'

const authenticate = anyone
const first = sayV1('x', { messageId: 'm1' })

t.test('two anonymous callers that number their messages alike have a task each', async (t) => {
  const { rpc } = await buildApp(t, { runnables: [asker] })
  const begin = async () => (await rpc('message/send', say('x', { messageId: 'm1' }))).result.id as string
  const tasks = [await begin(), await begin()]
  t.not(tasks[0], tasks[1])
  for (const taskId of tasks)
    t.match(await rpc('message/send', say('approve', { messageId: 'm2', taskId })), {
      result: { id: taskId, status: { state: 'completed' } }
    })
})

t.test('an anonymous message that is repeated is two messages', async (t) => {
  const { rpc } = await buildApp(t, { runnables: [asker] })
  const { id: taskId } = (await rpc('message/send', say('x'))).result as { id: string }
  for (const count of [1, 2]) {
    const { result } = await rpc('message/send', say('hm', { messageId: 'm', taskId }))
    const same = result.history.filter(({ messageId }: { messageId: string }) => messageId === 'm')
    t.equal(same.length, count)
  }
})

t.test('a message is repeated only with the same context, agent and content', async (t) => {
  const { rpc, runs } = await buildApp(t, { runnables: [echo], options: { authenticate } })
  const ids = new Set<string>()
  const send = async (message: object) => {
    const { result } = await rpc('SendMessage', message)
    ids.add(result.task.id as string)
  }
  await send(first)
  const others = [
    sayV1('y', { messageId: 'm1' }),
    sayV1('x', { messageId: 'm2' }),
    sayV1('x', { messageId: 'm1', contextId: 'another' }),
    sayV1('x', { messageId: 'm1', metadata: { a: 1 } }),
    sayV1('x', { messageId: 'm1', parts: [{ text: 'x' }, { text: '' }] }),
    { ...first, tenant: 'echo' }
  ]
  for (const other of others) await send(other)
  t.equal(ids.size, 1 + others.length)
  for (const same of [first, ...others]) await send(same)
  t.equal(ids.size, 1 + others.length)
  t.equal((await runs.list({ limit: 99 })).runs.length, ids.size)
})

t.test(
  'a message is repeated while its task is under way, and after that within `dedupeWindow`',
  async (t) => {
    const waiting = createWaiting()
    const app = await buildApp(t, {
      runnables: [waiting.runnable, asker],
      options: { authenticate, dedupeWindow: 1 }
    })
    const idOf = async (params: object) => {
      const { result } = await app.rpc('SendMessage', {
        ...params,
        configuration: { returnImmediately: true }
      })
      return result.task.id as string
    }
    for (const agentName of ['waiting', asker.name]) {
      const message = sayV1('x', { metadata: { agentName } })
      const task = await idOf(message)
      const { createdAt } = (await app.runs.find(task))!
      while (Date.now() <= createdAt + 1) await new Promise(setImmediate)
      t.equal(await idOf(message), task, 'under way')
      await app.rpc('CancelTask', { id: task })
      const next = await idOf(message)
      t.not(next, task, 'too old')
      t.equal(await idOf(message), next, 'the next one has taken its place')
      t.match((await app.rpc('GetTask', { id: task })).result, { id: task, history: [{ role: 'ROLE_USER' }] })
      await app.rpc('CancelTask', { id: next })
    }
  }
)

t.test('repetitions that arrive together after the window begin one task', async (t) => {
  const waiting = createWaiting()
  const { rpc, runs } = await buildApp(t, {
    runnables: [waiting.runnable],
    options: { authenticate, dedupeWindow: 1 }
  })
  const send = async () =>
    (await rpc('SendMessage', { ...first, configuration: { returnImmediately: true } })).result.task
      .id as string
  const task = await send()
  await rpc('CancelTask', { id: task })
  const { createdAt } = (await runs.find(task))!
  while (Date.now() <= createdAt + 1) await new Promise(setImmediate)
  const next = new Set(await Promise.all([send(), send(), send()]))
  t.equal(next.size, 1)
  t.notOk(next.has(task))
})

t.test('with a window of 0 no message is repeated', async (t) => {
  const { rpc } = await buildApp(t, { runnables: [echo], options: { authenticate, dedupeWindow: 0 } })
  const send = async () => (await rpc('SendMessage', first)).result.task.id as string
  t.not(await send(), await send())
})
