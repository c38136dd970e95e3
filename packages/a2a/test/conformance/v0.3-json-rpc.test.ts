import t, { type Test } from 'tap'
import { OPERATION_NAMES, OPERATIONS } from '../../src/operations.ts'
import { createQuestioner, createWaiting, failing } from '../helpers/agents.ts'
import { buildApp, echo, eventsOf, say, type RpcReply, type TestApp } from '../helpers/build-app.ts'

const pushNotificationConfig = { id: 'p', url: 'http://127.0.0.1:9/' }

async function serve(t: Test) {
  const waiting = createWaiting()
  const app = await buildApp(t, {
    runnables: [echo, failing, waiting.runnable, createQuestioner(undefined)],
    options: { versions: ['0.3'], pushNotifications: { allowPrivate: true } }
  })
  const sent = { ...say('x', { metadata: { agentName: 'waiting' } }), configuration: { blocking: false } }
  const { result } = await app.rpc('message/send', sent)
  return { app, waiting, id: result.id as string }
}

function post({ url }: TestApp, body: string, headers: Record<string, string> = {}) {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
}

/** Checks what each response of JSON-RPC has. */
function checkEnvelope(t: Test, reply: RpcReply, id: unknown) {
  t.equal(reply.jsonrpc, '2.0')
  t.ok('id' in reply)
  t.same(reply.id, id)
  t.not('result' in reply, 'error' in reply, 'exactly one of both')
  if (reply.error !== undefined) {
    t.ok(Number.isInteger(reply.error.code))
    t.match(reply.error.message, /./)
  }
}

t.test('each response of 0.3 is one of JSON-RPC, with the id of its request', async (t) => {
  const { app, id: taskId } = await serve(t)
  const calls: [method: string, params?: unknown][] = [
    ['message/send', say('x')],
    ['message/send', {}],
    ['tasks/get', { id: taskId }],
    ['tasks/get', { id: 'nothing' }],
    ['tasks/list', {}],
    ['tasks/pushNotificationConfig/set', { taskId, pushNotificationConfig }],
    ['tasks/pushNotificationConfig/get', { id: taskId }],
    ['tasks/pushNotificationConfig/list', { id: taskId }],
    ['tasks/pushNotificationConfig/delete', { id: taskId, pushNotificationConfigId: 'p' }],
    ['agent/getAuthenticatedExtendedCard'],
    ['nothing', {}]
  ]
  for (const [index, [method, params]] of calls.entries())
    for (const id of [index, `id ${index}`, -1, 1.5, null, '']) {
      const response = await post(app, JSON.stringify({ jsonrpc: '2.0', id, method, params }))
      t.equal(response.status, 200)
      t.match(response.headers.get('content-type'), /^application\/json/)
      checkEnvelope(t, (await response.json()) as RpcReply, id)
    }
  for (const body of ['{', '[]', '{"jsonrpc":"1.0"}', '{"jsonrpc":"2.0","id":{}}'])
    checkEnvelope(t, (await (await post(app, body)).json()) as RpcReply, null)
})

t.test('each event of a stream is a response, and the last one says so', async (t) => {
  const { app } = await serve(t)
  for (const id of [7, 'seven']) {
    const call = { jsonrpc: '2.0', id, method: 'message/stream', params: say('x') }
    const response = await post(app, JSON.stringify(call))
    t.match(response.headers.get('content-type'), /^text\/event-stream/)
    const events = eventsOf(await response.text())
    for (const event of events) checkEnvelope(t, event, id)
    t.match(events[0], { result: { kind: 'task' } })
    const finals = events.map(({ result }) => result.final as unknown).filter((each) => each !== undefined)
    t.same(finals, [...finals.slice(1).map(() => false), true])
  }
  const agentName = 'questioner'
  const events = await app.stream('message/stream', say('x', { metadata: { agentName } }))
  t.match(events.at(-1), { result: { status: { state: 'input-required' }, final: true } })
})

t.test('methods are named by their category and action', async (t) => {
  for (const name of OPERATION_NAMES)
    t.match(OPERATIONS[name].rpc['0.3'], /^(message|tasks|agent)\/[a-zA-Z]+(\/[a-z]+)?$/)
  t.same(
    OPERATION_NAMES.map((name) => OPERATIONS[name].rpc['0.3']),
    [
      'message/send',
      'message/stream',
      'tasks/get',
      'tasks/list',
      'tasks/cancel',
      'tasks/resubscribe',
      ...['set', 'get', 'list', 'delete'].map((action) => `tasks/pushNotificationConfig/${action}`),
      'agent/getAuthenticatedExtendedCard'
    ]
  )
})

t.test('errors have the codes of 0.3', async (t) => {
  const { app, id } = await serve(t)
  await app.rpc('tasks/cancel', { id })
  const plain = await buildApp(t, { options: { versions: ['0.3'] } })
  const { result } = await plain.rpc('message/send', say('x'))
  const cases: [code: number, served: TestApp, method: string, params: object][] = [
    [-32601, app, 'message/sent', {}],
    [-32602, app, 'message/send', { message: { parts: 'x' } }],
    [-32602, app, 'message/send', { message: { kind: 'message' } }],
    [-32602, app, 'message/send', { message: { role: 'user', parts: [] } }],
    [-32602, app, 'message/send', { message: { role: 'user', parts: [{ kind: 'text' }] } }],
    [-32602, app, 'message/send', { message: { role: 'user', parts: [{ type: 'x', text: 'x' }] } }],
    [-32602, app, 'message/send', { message: { role: 'user', parts: [{ kind: 'file', file: {} }] } }],
    [-32602, app, 'message/send', say('x', { taskId: id, contextId: 'another' })],
    [-32001, app, 'message/send', say('x', { taskId: 'nothing' })],
    [-32001, app, 'tasks/get', { id: 'nothing' }],
    [-32001, app, 'tasks/cancel', { id: 'nothing' }],
    [-32001, app, 'tasks/resubscribe', { id: 'nothing' }],
    [-32001, app, 'tasks/pushNotificationConfig/set', { taskId: 'nothing', pushNotificationConfig }],
    [-32001, app, 'tasks/pushNotificationConfig/get', { id: 'nothing' }],
    [-32001, app, 'tasks/pushNotificationConfig/delete', { id: 'nothing', pushNotificationConfigId: 'p' }],
    [-32002, app, 'tasks/cancel', { id }],
    [-32003, plain, 'tasks/pushNotificationConfig/set', { taskId: result.id, pushNotificationConfig }],
    [-32004, app, 'message/send', say('x', { taskId: id })],
    [-32007, app, 'agent/getAuthenticatedExtendedCard', {}]
  ]
  for (const [code, served, method, params] of cases)
    t.match(await served.rpc(method, params), { error: { code, message: /\w/ } }, `${method} ${code}`)
})

t.test('a subscription to a task that has ended gives the task, and ends', async (t) => {
  const { app, waiting, id } = await serve(t)
  waiting.goOn()
  await app.stream('tasks/resubscribe', { id })
  const events = await app.stream('tasks/resubscribe', { id })
  t.match(events, [{ result: { kind: 'task', id, status: { state: 'completed' } } }])
})

t.test('a message with an unknown task or history is bounded as in 1.0', async (t) => {
  const { app } = await serve(t)
  const { result } = await app.rpc('message/send', { ...say('x'), configuration: { historyLength: 0 } })
  t.notOk('history' in result)
  const { id } = result
  t.match(await app.rpc('tasks/get', { id, historyLength: 1 }), { result: { history: [{ role: 'agent' }] } })
  t.match((await app.rpc('tasks/get', { id })).result.history, { length: 2 })
  t.match(await app.rpc('tasks/get', { id, historyLength: -1 }), { error: { code: -32602 } })
})
