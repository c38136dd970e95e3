import { remoteAgent } from '@svc/a2a'
import { createContext } from '@svc/registry'
import t from 'tap'
import { asker, createWaiting } from '../helpers/agents.ts'
import { buildApp, echo } from '../helpers/build-app.ts'

t.test('every request has the tenant of the card', async (t) => {
  const waiting = createWaiting()
  const { url, rpc } = await buildApp(t, { runnables: [echo, asker, waiting.runnable] })
  const far = remoteAgent({ url: `${url}/waiting` })
  const ended = new AbortController()
  const run = far.run('echo this', createContext({ signal: ended.signal }))
  await waiting.reached()
  t.match(await rpc('ListTasks', { tenant: 'waiting' }), { result: { totalSize: 1 } })
  ended.abort()
  await t.rejects(run)
  await waiting.aborted()
  t.match(await rpc('ListTasks', { tenant: 'waiting' }), {
    result: { tasks: [{ status: { state: 'TASK_STATE_CANCELED' } }] }
  })
  t.match(await remoteAgent({ url }).run('x', createContext()), { text: 'x' }, 'no card, no tenant')
  await t.rejects(remoteAgent({ url: `${url}/echo`, agentName: 'asker' }).run('x', createContext()), {
    code: 'A2A_ERR_REMOTE',
    message: /known: "echo"/
  })
})
