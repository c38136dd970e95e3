import t from 'tap'
import { asker } from '../helpers/agents.ts'
import { anyone, buildApp, say } from '../helpers/build-app.ts'

const engine = { record: { input: false } }

t.test('without record.input a task has no message of the client, but is the same task', async (t) => {
  const { runs, rpc } = await buildApp(t, { engine, options: { authenticate: anyone } })
  const message = say('secret', { messageId: 'm' })
  const { result: task } = await rpc('message/send', message)
  t.match(task, { status: { state: 'completed' }, artifacts: [{ parts: [{ text: 'secret' }] }] })
  t.same(
    task.history.map(({ role }: { role: string }) => role),
    ['agent']
  )
  const stored = await runs.stores.tasks.get(task.id)
  t.same(stored?.messages, [{ messageId: 'm', role: 'user', parts: [] }])
  t.notMatch(JSON.stringify((await runs.find(task.id))?.startKey), /secret/)

  const again = await rpc('message/send', message)
  t.equal(again.result.id, task.id, 'the message is accepted once')
  const other = await rpc('message/send', say('other', { messageId: 'm' }))
  t.not(other.result.id, task.id)
})

t.test('its approvals are still asked for and answered', async (t) => {
  const { rpc } = await buildApp(t, { runnables: [asker], engine })
  const { result: asked } = await rpc('message/send', say('x', { messageId: 'm' }))
  t.match(asked.status, { state: 'input-required' })
  const { result: done } = await rpc('message/send', say('approve', { messageId: 'n', taskId: asked.id }))
  t.match(done, {
    status: { state: 'completed' },
    history: [
      { role: 'agent', parts: [{}, { data: { toolName: 'remove' } }] },
      { role: 'user', parts: [{ text: 'approve' }] },
      { role: 'agent', parts: [{ text: 'true null' }] }
    ]
  })
  t.equal(done.history.length, 3)
})
