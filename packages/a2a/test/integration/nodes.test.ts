import type { Authenticate } from '@svc/registry'
import { createTestCluster } from '@svc/testing'
import t, { type Test } from 'tap'
import { createWaiting } from '../helpers/agents.ts'
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
