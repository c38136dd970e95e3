import type { RunnableDefinition } from '@svc/registry'
import t from 'tap'
import { buildApp, eventsOf, say, sayV1 } from '../helpers/build-app.ts'

t.test(
  'the task of a run that waits in the queue is submitted, can be canceled, and is followed to its end',
  async (t) => {
    const gate = Promise.withResolvers<void>()
    const begun: string[] = []
    const queued: RunnableDefinition = {
      kind: 'agent',
      name: 'queued',
      resumable: true,
      queue: true,
      async *stream(input) {
        begun.push(String(input))
        await gate.promise
        yield { type: 'text', text: `did ${String(input)}` }
      }
    }
    const { rpc, url } = await buildApp(t, { runnables: [queued], engine: { queue: { concurrency: 1 } } })
    const configuration = { returnImmediately: true }
    const send = async (text: string) =>
      (await rpc('SendMessage', { ...sayV1(text), configuration })).result.task
    const first = await send('one')
    while (begun.length === 0) await rpc('GetTask', { id: first.id })
    const [second, third] = [await send('two'), await send('three')]
    t.equal(third.status.state, 'TASK_STATE_SUBMITTED')
    t.match(await rpc('tasks/get', { id: third.id }), { result: { status: { state: 'submitted' } } })
    t.match(await rpc('tasks/cancel', { id: second.id }), { result: { status: { state: 'canceled' } } })
    const following = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/resubscribe', params: { id: third.id } })
    })
    const waiting = rpc('message/send', say('four'))
    gate.resolve()
    const events = eventsOf(await following.text())
    t.same(
      events.filter(({ result }) => result.status).map(({ result }) => result.status.state),
      ['submitted', 'working', 'completed'],
      'it works from its first part after its acceptance'
    )
    t.equal(events.at(-1)?.result.final, true)
    t.match(await waiting, {
      result: { status: { state: 'completed' }, artifacts: [{ parts: [{ text: 'did four' }] }] }
    })
    t.same(begun, ['one', 'three', 'four'])
  }
)
