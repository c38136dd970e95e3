import { Type } from '@sinclair/typebox'
import t from 'tap'
import { asker, createWaiting, failing } from '../helpers/agents.ts'
import { anyone, buildApp, echo, say, sayV1, type TestApp } from '../helpers/build-app.ts'

const answer = (data: object, fields: object) => ({
  message: { role: 'user', parts: [{ kind: 'data', data }], ...fields }
})

async function ask({ rpc }: TestApp) {
  const { result } = await rpc('message/send', say('x', { metadata: { agentName: 'asker' } }))
  const [, { data }] = result.status.message.parts
  return { result, taskId: result.id as string, approvalId: data.approvalId as string, data }
}

t.test('the same message is executed once', async (t) => {
  let runs = 0
  const { rpc } = await buildApp(t, {
    runnables: [{ kind: 'agent', name: 'counter', run: () => String(++runs) }],
    options: { authenticate: anyone }
  })
  const params = say('x', { messageId: 'm1' })
  const [first, second] = await Promise.all([rpc('message/send', params), rpc('message/send', params)])
  t.equal(first.result.id, second.result.id)
  t.same(first.result, second.result)
  t.same((await rpc('message/send', params)).result, first.result)
  t.equal(runs, 1)
  t.match((await rpc('message/send', say('another', { messageId: 'm1' }))).result.artifacts, [
    { parts: [{ text: '2' }] }
  ])
})

t.test('a waiting task accepts a limited number of messages, and always an answer', async (t) => {
  const app = await buildApp(t, { runnables: [asker], options: { authenticate: anyone } })
  const tell = (taskId: string, text: string, messageId?: string) =>
    app.rpc('message/send', say(text, { taskId, ...(messageId !== undefined && { messageId }) }))
  const { taskId } = await ask(app)
  for (let index = 1; index < 100; index++) await tell(taskId, 'maybe', `maybe ${index}`)
  const full = { error: { code: -32004, message: /too many messages/ } }
  t.match(await tell(taskId, 'maybe'), full)
  t.match(await tell(taskId, 'maybe', 'maybe 7'), { result: { id: taskId } }, 'what was said is known')
  t.match(await tell(taskId, 'approve'), { result: { status: { state: 'completed' } } })

  const other = await ask(app)
  const large = 'x'.repeat(1_000_000)
  for (let index = 0; index < 5; index++) await tell(other.taskId, large)
  t.match(await tell(other.taskId, large), full)
  t.match(await tell(other.taskId, 'deny'), { result: { status: { state: 'completed' } } })
})

t.test('a task waits for an approval, and continues with the answer', async (t) => {
  const app = await buildApp(t, { runnables: [asker] })
  const { result, taskId, approvalId, data } = await ask(app)
  t.match(result, { status: { state: 'input-required', message: { role: 'agent', taskId } } })
  t.match(data, { toolName: 'remove', args: { path: 'x' }, expiresAt: /Z$/ })

  const kept = await app.rpc('message/send', say('maybe', { taskId }))
  t.match(kept.result.status, { state: 'input-required' }, 'anything else keeps it waiting')
  const approved = await app.rpc(
    'message/send',
    answer({ approvalId, approved: true, args: { path: 'y' } }, { taskId })
  )
  t.match(approved.result, {
    id: taskId,
    status: { state: 'completed' },
    artifacts: [{ parts: [{ text: 'true {"path":"y"}' }] }]
  })
  t.same(
    approved.result.history.map(({ role }: { role: string }) => role),
    ['user', 'agent', 'user', 'user', 'agent']
  )
  t.match(await app.rpc('message/send', say('approve', { taskId })), { error: { code: -32004 } })
})

t.test('an answer as text, and a wrong one', async (t) => {
  const app = await buildApp(t, { runnables: [asker] })
  const { taskId, result, approvalId } = await ask(app)
  t.match(await app.rpc('message/send', answer({ approvalId: 'x', approved: true }, { taskId })), {
    error: { code: -32602 }
  })
  t.match(await app.rpc('message/send', say('approve', { taskId, contextId: 'other' })), {
    error: { code: -32602 }
  })
  t.match(await app.rpc('message/send', say('approve', { taskId, metadata: { agentName: 'echo' } })), {
    error: { code: -32602 }
  })
  const wrong: object[] = [null, [], 'x'].map((args) => ({ approvalId, approved: true, args }))
  wrong.push(...['nothing', 5, {}].map((approvalId) => ({ approved: true, approvalId })))
  for (const data of wrong)
    for (let time = 0; time < 2; time++)
      t.match(
        await app.rpc('message/send', answer(data, { taskId, messageId: JSON.stringify(data) })),
        { error: { code: -32602, message: /args|approval/ } },
        `${JSON.stringify(data)} is no answer, however often it is sent`
      )
  const denied = await app.rpc('message/send', say('deny', { taskId, contextId: result.contextId }))
  t.match(denied.result.artifacts, [{ parts: [{ text: 'false null' }] }])
})

t.test('an answer sent twice counts once', async (t) => {
  const app = await buildApp(t, { runnables: [asker], options: { authenticate: anyone } })
  const { taskId } = await ask(app)
  const params = say('approve', { taskId, messageId: 'a1' })
  const first = await app.rpc('message/send', params)
  t.equal(first.result.status.state, 'completed')
  t.match(await app.rpc('message/send', params), { result: { status: { state: 'completed' } } })
})

t.test('an answer as a stream', async (t) => {
  const app = await buildApp(t, { runnables: [asker] })
  const events = await app.stream('message/stream', say('x'))
  t.match(events.at(-1), { result: { status: { state: 'input-required' }, final: true } })
  const taskId = events[0]!.result.id as string
  const kept = await app.stream('message/stream', say('hm', { taskId }))
  t.match(kept, [{ result: { kind: 'task', status: { state: 'input-required' } } }])
  t.equal(kept.length, 1)
  const rest = await app.stream('message/stream', say('approve', { taskId }))
  t.match(rest[0], { result: { kind: 'task', id: taskId } })
  const last = rest.at(-1)!.result
  t.equal(last.status.state, 'completed')
})

t.test('a working task accepts no message', async (t) => {
  const waiting = createWaiting()
  const { rpc } = await buildApp(t, { runnables: [waiting.runnable] })
  const { result } = await rpc('message/send', { ...say('x'), configuration: { blocking: false } })
  t.match(result.status, { state: 'working' })
  t.match(await rpc('message/send', say('more', { taskId: result.id })), { error: { code: -32004 } })
  waiting.goOn()
})

t.test('a run that fails is a failed task, without internal details', async (t) => {
  const { rpc } = await buildApp(t, { runnables: [failing] })
  const reply = await rpc('SendMessage', sayV1('x'))
  t.match(reply.result.task, {
    status: {
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'The run failed' }], metadata: { code: 'RUN_ERR_FAILED' } }
    },
    artifacts: [{ parts: [{ text: 'half' }] }]
  })
  t.notMatch(JSON.stringify(reply), /secret/)
})

t.test('returnImmediately, historyLength', async (t) => {
  const { rpc } = await buildApp(t, { runnables: [echo] })
  const configuration = { returnImmediately: true, historyLength: 0 }
  const { result } = await rpc('SendMessage', { ...sayV1('x'), configuration })
  t.notOk('history' in result.task)
  const { id } = result.task
  const { result: one } = await rpc('GetTask', { id, historyLength: 1 })
  t.match(one.history, [{ role: 'ROLE_AGENT' }])
  t.match(await rpc('GetTask', { id, historyLength: -1 }), { error: { code: -32602 } })
})

t.test('data reaches a runnable with an input schema', async (t) => {
  const { rpc } = await buildApp(t, {
    options: {
      agents: [
        {
          kind: 'workflow',
          name: 'sum',
          inputSchema: Type.Object({ a: Type.Number() }),
          run: (input) => ({ text: '', structured: { twice: (input as { a: number }).a * 2 } })
        }
      ]
    }
  })
  const send = (data: unknown) => rpc('SendMessage', sayV1('', { parts: [{ data }] }))
  t.match(await send({ a: 2 }), { result: { task: { artifacts: [{ parts: [{ data: { twice: 4 } }] }] } } })
  t.match(await send({ b: 2 }), { error: { code: -32602 } })
})
