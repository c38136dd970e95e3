import { createInProcessStores, type RunnableDefinition, type TaskStore } from '@svc/registry'
import t, { type Test } from 'tap'
import type { OperationName } from '../../src/model/requests.ts'
import { OPERATIONS } from '../../src/operations.ts'
import { PROTOCOL_VERSIONS } from '../../src/wire/versions.ts'
import { asker, createWaiting, failing, worker } from '../helpers/agents.ts'
import { askByRest, askByRpc } from '../helpers/ask.ts'
import { anyone, buildApp, echo, say, sayV1, type AppRequest } from '../helpers/build-app.ts'
import { LEGACY_ANSWERS } from '../helpers/published/operation-types.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'
import { createReceiver } from '../helpers/receiver.ts'
import { connectSdkClients } from '../helpers/sdk-clients.ts'
import { toNeutral } from '../helpers/to-neutral.ts'

const atOnce = { configuration: { returnImmediately: true } }

/** An app whose agents reply with messages, and the ids of the tasks that it stores. */
async function serve(t: Test, { options, ...request }: AppRequest = {}) {
  const stored: string[] = []
  const { tasks: kept } = createInProcessStores()
  const tasks: TaskStore = {
    ...kept,
    create(task, messageId) {
      stored.push(task.taskId)
      return kept.create(task, messageId)
    }
  }
  return { ...(await buildApp(t, { ...request, options: { reply: 'message', tasks, ...options } })), stored }
}

t.test('the reply is the answer alone, in every version and on every binding', async (t) => {
  const app = await serve(t, { runnables: [worker] })
  const parts = [{ text: 'It is 3.' }, { data: { sum: 3 } }]
  const expected = {
    messageId: 'ID.answer',
    role: 'agent',
    contextId: 'ID',
    metadata: { agentName: 'worker' }
  }
  for (const version of PROTOCOL_VERSIONS)
    for (const name of ['send', 'stream'] satisfies OperationName[]) {
      const legacy = { message: { role: 'ROLE_USER', content: [{ text: 'x' }] } }
      const byRpc = await askByRpc(app, name, version, version === '1.0' ? sayV1('x') : say('x'))
      const [route] = OPERATIONS[name].rest[version]
      const byRest = await askByRest(app, route!, version === '1.0' ? sayV1('x') : legacy)
      t.equal(byRpc.length + byRest.length, 2, 'one event')
      for (const reply of [byRpc[0]!.result as object, byRest[0]]) {
        const neutral = toNeutral(reply) as { parts: { text?: string; data?: unknown }[] }
        t.match(neutral, { ...expected, parts }, `${name} ${version}`)
        t.notOk('taskId' in neutral)
        if (version === '1.0') t.same(faultsOf('1.0', 'StreamResponse', reply), [])
      }
      if (version === '0.3') t.same(faultsOf('0.3', LEGACY_ANSWERS[name], byRpc[0]), [])
    }
  for (const client of await connectSdkClients(app.origin)) {
    const reply = JSON.stringify(await client.send([{ text: 'x' }]))
    t.match(reply, /"messageId":"[^"]+\.answer"/, client.name)
    t.match(reply, 'It is 3.')
  }
  t.same(app.stored, [], 'no task is stored')
})

t.test('the run of a message is a run like any other, and can be read as a task', async (t) => {
  const { rpc, runs, stored } = await serve(t, { runnables: [echo] })
  const { message } = (await rpc('SendMessage', sayV1('hi'))).result
  const [run] = (await runs.list({ limit: 9 })).runs
  t.match(run, { status: 'completed', sessionId: message.contextId })
  const id = run!.runId
  t.match((await rpc('GetTask', { id })).result, {
    id,
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ parts: [{ text: 'hi' }] }]
  })
  t.match((await rpc('ListTasks', {})).result, { tasks: [{ id }], totalSize: 1 })
  t.match(await rpc('CancelTask', { id }), { error: { code: -32002 } })
  t.same(stored, [])
})

t.test('an agent says how it replies, before the service does', async (t) => {
  const short = { ...echo, name: 'short', reply: 'message' as const }
  const long = { ...echo, name: 'long', reply: 'task' as const }
  for (const reply of ['task', 'message', undefined] as const) {
    const { rpc } = await buildApp(t, {
      runnables: [echo, short, long],
      ...(reply && { options: { reply } })
    })
    const keyOf = async (name: string) => Object.keys((await rpc('SendMessage', sayV1(name))).result)[0]
    t.equal(await keyOf('short'), 'message')
    t.equal(await keyOf('long'), 'task')
    t.equal(await keyOf('echo'), reply ?? 'task')
  }
})

t.test('files of an answer are parts of the message, and an answer without any is empty', async (t) => {
  const maker: RunnableDefinition = {
    kind: 'agent',
    name: 'maker',
    async *stream(input, { runId, stores }) {
      if (input === 'nothing') return
      const { createdAt: _, ...kept } = await stores.files!.put(runId, {
        mimeType: 'text/csv',
        content: Buffer.from('a')
      })
      yield { type: 'file', ...kept }
    }
  }
  const { rpc } = await serve(t, { runnables: [maker] })
  const { message } = (await rpc('SendMessage', sayV1('x'))).result
  t.match(message.parts, [{ url: /^http/, mediaType: 'text/csv' }])
  t.equal(await (await fetch(message.parts[0].url as string)).text(), 'a')
  t.same((await rpc('SendMessage', sayV1('nothing'))).result.message.parts, [{ text: '' }])
})

t.test('a run that does not complete is a task: it asks, fails, or is canceled', async (t) => {
  const waiting = createWaiting()
  const app = await serve(t, { runnables: [asker, failing, waiting.runnable] })
  const { task } = (await app.rpc('SendMessage', sayV1('asker'))).result
  t.match(task, { status: { state: 'TASK_STATE_INPUT_REQUIRED' }, history: [{ parts: [{ text: 'asker' }] }] })
  const answer = await app.rpc('SendMessage', sayV1('approve', { taskId: task.id }))
  t.match(answer.result.task, {
    id: task.id,
    status: { state: 'TASK_STATE_COMPLETED' },
    history: { length: 4 }
  })

  const failed = await app.rpc('SendMessage', sayV1('failing', { contextId: 'c' }))
  t.match(failed.result.task, { status: { state: 'TASK_STATE_FAILED' }, history: [{ role: 'ROLE_USER' }] })
  t.match(await app.stream('message/stream', say('failing')), [
    { result: { kind: 'task', status: { state: 'failed' } } }
  ])
  const asked = await app.stream('SendStreamingMessage', sayV1('asker'))
  t.match(asked, [{ result: { task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } } }])
  t.equal(asked.length, 1)

  const sent = app.rpc('SendMessage', sayV1('waiting'))
  await waiting.reached()
  const { runs } = await app.runs.list({ status: 'working', limit: 9 })
  await app.runs.cancel(runs[0]!.runId)
  t.match((await sent).result.task, { status: { state: 'TASK_STATE_CANCELED' } })
  t.equal(app.stored.length, 5)
})

t.test('a run that takes longer than `replyTimeout` is a task, which a stream follows', async (t) => {
  const waiting = createWaiting()
  const app = await serve(t, { runnables: [waiting.runnable], options: { replyTimeout: 1 } })
  const immediate = (await app.rpc('SendMessage', { ...sayV1('x'), ...atOnce })).result.task
  t.match(immediate, { status: { state: 'TASK_STATE_WORKING' }, history: [{ parts: [{ text: 'x' }] }] })
  await app.rpc('CancelTask', { id: immediate.id })

  const begin = async <T>(ask: () => Promise<T>): Promise<T> => {
    waiting.reset()
    const known = app.stored.length
    const replying = ask()
    await waiting.reached()
    while (app.stored.length === known) await new Promise(setImmediate)
    waiting.goOn()
    return replying
  }
  const { result } = await begin(() => app.rpc('SendMessage', sayV1('x')))
  t.match(result.task, {
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ parts: [{ text: 'one two' }] }]
  })
  const events = await begin(() => app.stream('SendStreamingMessage', sayV1('x')))
  t.match(events[0], { result: { task: { status: { state: 'TASK_STATE_WORKING' } } } })
  t.match(JSON.stringify(events.slice(0, -1)), /"one .*two"/)
  t.match(events.at(-1), { result: { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } } })
})

t.test('a client that does not wait gets the message, if it is there at once', async (t) => {
  const { rpc } = await serve(t)
  t.match(await rpc('SendMessage', { ...sayV1('x'), ...atOnce }), {
    result: { message: { parts: [{ text: 'x' }] } }
  })
  t.match(await rpc('message/send', { ...say('x'), configuration: { blocking: false, historyLength: 0 } }), {
    result: { kind: 'message', parts: [{ text: 'x' }] }
  })
})

t.test('a repeated message has the same reply', async (t) => {
  const { rpc, runs, stream } = await serve(t, {
    runnables: [echo, asker],
    options: { authenticate: anyone }
  })
  for (const text of ['echo', 'asker']) {
    const message = sayV1(text)
    const [first, second] = await Promise.all([rpc('SendMessage', message), rpc('SendMessage', message)])
    t.same(second.result, first.result)
    t.same((await rpc('SendMessage', message)).result, first.result)
    const [event] = await stream('SendStreamingMessage', message)
    t.same(Object.keys(event!.result), Object.keys(first.result))
    if (text === 'echo') t.same(event!.result, first.result)
  }
  t.equal((await runs.list({ limit: 9 })).runs.length, 2)
})

t.test('a reply that was a task stays one, once it has completed', async (t) => {
  const { rpc } = await serve(t, { runnables: [asker], options: { authenticate: anyone } })
  const message = sayV1('asker')
  const { id } = (await rpc('SendMessage', message)).result.task
  await rpc('SendMessage', sayV1('approve', { taskId: id }))
  t.match((await rpc('SendMessage', message)).result.task, { id, status: { state: 'TASK_STATE_COMPLETED' } })
})

t.test('a follow-up continues the session, with the agent that replied', async (t) => {
  const seen: string[] = []
  const rememberer: RunnableDefinition = {
    kind: 'agent',
    name: 'rememberer',
    async *stream(_input, { sessionId }) {
      seen.push(sessionId)
      yield { type: 'text', text: 'noted' }
    }
  }
  const { rpc } = await serve(t, { runnables: [echo, rememberer] })
  const { contextId } = (await rpc('SendMessage', sayV1('rememberer'))).result.message
  const { message } = (await rpc('SendMessage', sayV1('and', { contextId }))).result
  t.match(message, { contextId, parts: [{ text: 'noted' }], metadata: { agentName: 'rememberer' } })
  t.same(seen, [contextId, contextId])
})

t.test('a message that waits for the turn of its session is a task at once', async (t) => {
  const waiting = createWaiting()
  const runnables = [{ ...waiting.runnable, takesTurns: true }]
  const { rpc } = await serve(t, { runnables })
  const first = rpc('SendMessage', sayV1('x', { contextId: 'c' }))
  await waiting.reached()
  const second = await rpc('SendMessage', sayV1('y', { contextId: 'c' }))
  t.match(second.result.task, {
    status: { state: 'TASK_STATE_SUBMITTED' },
    history: [{ parts: [{ text: 'y' }] }]
  })
  await rpc('CancelTask', { id: second.result.task.id })
  waiting.goOn()
  t.match(await first, { result: { message: { parts: [{ text: 'one two' }] } } })
})

t.test('push notifications that a message asks for begin with its task, from its first change', async (t) => {
  const receiver = await createReceiver(t)
  const options = { pushNotifications: { allowPrivate: true } }
  const app = await serve(t, { runnables: [echo, asker], options })
  const configuration = { taskPushNotificationConfig: { url: receiver.url } }
  const bad = { taskPushNotificationConfig: { url: 'ftp://x' } }
  t.match(await app.rpc('SendMessage', { ...sayV1('echo'), configuration: bad }), { error: { code: -32602 } })
  t.match(await app.rpc('SendMessage', { ...sayV1('echo'), configuration }), { result: { message: {} } })
  const { task } = (await app.rpc('SendMessage', { ...sayV1('asker'), configuration })).result
  const events = (await receiver.until(2)).map(({ body }) => body.statusUpdate)
  t.match(events, [
    { taskId: task.id, status: { state: 'TASK_STATE_WORKING' } },
    { taskId: task.id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } }
  ])
})
