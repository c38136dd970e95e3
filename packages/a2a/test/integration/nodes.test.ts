import type { Authenticate } from '@svc/registry'
import { createTestCluster } from '@svc/registry/testing'
import t, { type Test } from 'tap'
import { asker, createWaiting } from '../helpers/agents.ts'
import { buildApp, echo, sayV1, type AppRequest } from '../helpers/build-app.ts'

const authenticate: Authenticate = ({ token }) =>
  token === undefined ? null : { sub: token, scopes: [], claims: {} }
const ann = { authorization: 'Bearer ann' }
const configuration = { returnImmediately: true }

/** Two nodes of a service, with their stores. */
async function buildNodes(t: Test, runnables: NonNullable<AppRequest['runnables']>) {
  const { join } = createTestCluster()
  const build = async () => {
    const { stores } = join()
    return { stores, ...(await buildApp(t, { runnables, engine: { stores }, options: { authenticate } })) }
  }
  return [await build(), await build()] as const
}

t.test('any node reads, lists, follows and cancels the tasks of another', async (t) => {
  const waiting = createWaiting()
  const [first, second] = await buildNodes(t, [waiting.runnable])
  const { result } = await first.rpc('SendMessage', { ...sayV1('x'), configuration }, ann)
  const { id } = result.task
  await waiting.reached()
  t.match((await second.rpc('GetTask', { id }, ann)).result, {
    status: { state: 'TASK_STATE_WORKING' },
    history: [{ role: 'ROLE_USER' }]
  })
  t.match((await second.rpc('ListTasks', {}, ann)).result, { tasks: [{ id }], totalSize: 1 })
  const following = second.stream('SubscribeToTask', { id }, ann)
  t.match((await second.rpc('CancelTask', { id }, ann)).result, { status: { state: 'TASK_STATE_CANCELED' } })
  t.match((await following).at(-1), {
    result: { statusUpdate: { status: { state: 'TASK_STATE_CANCELED' } } }
  })
  t.match((await first.rpc('CancelTask', { id }, ann)).error, { code: -32002 })
})

t.test('a message that arrives on two nodes starts one task, which both return whole', async (t) => {
  const [first, second] = await buildNodes(t, [echo])
  const { create } = first.stores.tasks
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  first.stores.tasks.create = async (...args) => {
    begun.resolve()
    await gate.promise
    return create(...args)
  }
  const message = sayV1('Hi')
  const slow = first.rpc('SendMessage', message, ann)
  await begun.promise
  const { result } = await second.rpc('SendMessage', message, ann)
  t.match(result.task, {
    status: { state: 'TASK_STATE_COMPLETED' },
    history: [{ role: 'ROLE_USER', parts: [{ text: 'Hi' }] }, { role: 'ROLE_AGENT' }]
  })
  gate.resolve()
  t.same((await slow).result.task, result.task)
  t.equal((await first.rpc('ListTasks', {}, ann)).result.totalSize, 1)
  const races = Array.from({ length: 20 }, () => sayV1('again')).map(async (again) => {
    const replies = await Promise.all([first, second].map(({ rpc }) => rpc('SendMessage', again, ann)))
    return replies.map((reply) => reply.result.task.id as string)
  })
  for (const [one, other] of await Promise.all(races)) t.equal(one, other)
})

t.test('a message that follows up on one node cannot start a task on another', async (t) => {
  const [first, second] = await buildNodes(t, [asker])
  const { result } = await first.rpc('SendMessage', { ...sayV1('x'), configuration }, ann)
  const { id: taskId } = result.task
  const { message } = sayV1('approve') as { message: { messageId: string } }
  const { taskOfMessage } = second.stores.tasks
  // The follow-up arrives while the other node starts a task.
  second.stores.tasks.taskOfMessage = async (...args) => {
    second.stores.tasks.taskOfMessage = taskOfMessage
    const known = await taskOfMessage(...args)
    await first.rpc('SendMessage', { message: { ...message, taskId } }, ann)
    return known
  }
  t.match(await second.rpc('SendMessage', { message }, ann), { error: { code: -32602 } })
  const { tasks } = (await first.rpc('ListTasks', {}, ann)).result as {
    tasks: { id: string; status: { state: string } }[]
  }
  t.same(
    tasks.map(({ id, status }) => [id === taskId, status.state]),
    [
      [false, 'TASK_STATE_CANCELED'],
      [true, 'TASK_STATE_COMPLETED']
    ]
  )
})
