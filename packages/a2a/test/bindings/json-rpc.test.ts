import t from 'tap'
import { createWaiting } from '../helpers/agents.ts'
import { buildApp, echo, say, sayV1, type TestApp } from '../helpers/build-app.ts'

async function post({ app }: TestApp, payload: unknown, headers: object = {}) {
  const response = await app.inject({
    method: 'POST',
    url: '/a2a',
    headers: { 'content-type': 'application/json', ...headers },
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload)
  })
  return { status: response.statusCode, headers: response.headers, body: response.body && response.json() }
}

const call = (fields: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tasks/get',
  params: { id: 'x' },
  ...fields
})

t.test('bodies that are not requests', async (t) => {
  const app = await buildApp(t)
  const cases: [payload: unknown, id: unknown, code: number][] = [
    ['{', null, -32700],
    ['', null, -32700],
    ['{"a":"\\ud800"}', null, -32700],
    [`${'['.repeat(70)}${']'.repeat(70)}`, null, -32700],
    ['[]', null, -32600],
    [[call({}), call({})], null, -32600],
    ['1', null, -32600],
    ['null', null, -32600],
    [call({ jsonrpc: '1.0' }), 1, -32600],
    [call({ jsonrpc: undefined }), 1, -32600],
    [call({ method: 1 }), 1, -32600],
    [call({ id: {} }), null, -32600],
    [call({ id: true }), null, -32600],
    [call({ id: 'x'.repeat(1025) }), null, -32600],
    ['{"jsonrpc":"2.0","id":1e400,"method":"tasks/get","params":{"id":"x"}}', null, -32600],
    [call({ id: 'x'.repeat(1024) }), 'x'.repeat(1024), -32001],
    [call({ id: -1 }), -1, -32001],
    [call({ method: 'nothing' }), 1, -32601],
    [call({ method: 'toString' }), 1, -32601],
    [call({ method: 'nothing', id: 'a"b' }), 'a"b', -32601],
    [call({ params: [] }), 1, -32602],
    [call({ params: 'x' }), 1, -32602],
    [call({ params: {} }), 1, -32602],
    [call({ params: { id: 1 } }), 1, -32602],
    [call({ id: null }), null, -32001],
    [call({ id: 1.5 }), 1.5, -32001],
    [call({}), 1, -32001]
  ]
  for (const [payload, id, code] of cases) {
    const { status, body } = await post(app, payload)
    t.equal(status, 200)
    t.match(body, { jsonrpc: '2.0', id, error: { code } }, JSON.stringify(payload))
  }
})

t.test('an unknown method is named, as far as it is printable', async (t) => {
  const app = await buildApp(t)
  const cases: [method: string, says: string][] = [
    ['tasks/gett', 'Unknown method "tasks/gett"'],
    ['%s \u202e\u0007\nä', 'Unknown method "%s ???ä"'],
    ['x'.repeat(1_000), `Unknown method "${'x'.repeat(64)}"`],
    ['', 'Unknown method ""']
  ]
  for (const [method, message] of cases) {
    const { body } = await post(app, call({ method }))
    t.match(body, { error: { code: -32601, message } }, message)
  }
})

t.test('the invalid field is named', async (t) => {
  const app = await buildApp(t)
  const parts = [{ kind: 'text', text: 'x' }]
  const cases: [method: string, params: object, field: string][] = [
    ['message/send', {}, 'message'],
    ['message/send', { message: { role: 'banana', parts } }, 'message.role'],
    ['message/send', { message: { role: 'agent', parts } }, 'message.role'],
    ['message/send', { message: { role: 'user', parts: [] } }, 'message.parts'],
    ['message/send', { message: { role: 'user', parts: [{ kind: 'text' }] } }, 'message.parts.0.text'],
    ['message/send', { message: { role: 'user', parts: [{ kind: 'x' }] } }, 'message.parts.0.kind'],
    ['message/send', { message: { role: 'user', parts: [{ text: 'x' }] } }, 'message.parts.0.kind'],
    ['message/send', say('x', { contextId: 1 }), 'message.contextId'],
    ['message/send', { ...say('x'), configuration: { historyLength: -1 } }, 'configuration.historyLength'],
    [
      'message/send',
      { message: { role: 'user', parts: [{ kind: 'file', file: { bytes: '#' } }] } },
      'message.parts.0.file.bytes'
    ],
    ['SendMessage', sayV1('x', { role: 'user' }), 'message.role'],
    ['SendMessage', sayV1('x', { parts: [{}] }), 'message.parts.0'],
    ['SendMessage', sayV1('x', { parts: [{ text: 'x', url: 'y' }] }), 'message.parts.0'],
    ['SendMessage', sayV1('x', { messageId: undefined }), 'message.messageId'],
    ['ListTasks', { status: 'nonsense' }, 'status'],
    ['ListTasks', { pageSize: 0 }, 'pageSize'],
    ['ListTasks', { pageSize: 101 }, 'pageSize'],
    ['ListTasks', { pageToken: 'x' }, 'pageToken'],
    ['ListTasks', { statusTimestampAfter: 'yesterday' }, 'statusTimestampAfter']
  ]
  for (const [method, params, field] of cases) {
    const { body } = await post(app, call({ method, params }))
    t.match(body.error, { code: -32602, message: new RegExp(field.replaceAll('.', '\\.')) }, method)
    const { data } = body.error
    t.equal(Array.isArray(data) ? data[1].fieldViolations[0].field : data.errors[0].field, field)
  }
  const empty = await post(app, call({ method: 'message/send', params: say('') }))
  t.match(empty.body.error, { code: -32602 }, 'an empty text is no input')
})

t.test('a notification is executed without an answer', async (t) => {
  const waiting = createWaiting()
  const app = await buildApp(t, { runnables: [waiting.runnable] })
  for (const method of ['message/stream', 'SendStreamingMessage', 'nothing', 'message/send']) {
    const params = method === 'message/send' ? { ...say('x'), configuration: { blocking: false } } : say('x')
    const fixed = method === 'SendStreamingMessage' ? sayV1('x') : params
    const { status, body } = await post(app, { jsonrpc: '2.0', method, params: fixed })
    t.same([status, body], [204, ''])
  }
  t.equal((await app.runs.list({ limit: 9 })).runs.length, 3)
})

t.test('errors outside the protocol keep their status', async (t) => {
  const app = await buildApp(t, { options: { limits: { bodyLimit: 300 } } })
  t.match(await post(app, `"${'x'.repeat(400)}"`), {
    status: 413,
    body: { id: null, error: { code: -32000 } }
  })
  t.match(await post(app, 'a=1', { 'content-type': 'text/plain' }), {
    status: 415,
    body: { id: null, error: { code: -32005 } }
  })
  await app.runs.close()
  t.match(await post(app, call({ method: 'message/send', params: say('x') })), {
    status: 503,
    body: { id: 1, error: { code: -32000 } }
  })
})

t.test('a failed resubscription is an event for clients that read nothing else', async (t) => {
  const { url } = await buildApp(t)
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify(call({ method: 'tasks/resubscribe' }))
  })
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  t.match(await response.text(), /^data: \{"jsonrpc":"2.0","id":1,"error":\{"code":-32001/)
})

t.test('every error has data in the form of its version', async (t) => {
  const app = await buildApp(t)
  const { result } = await app.rpc('message/send', say('x'))
  const { id } = result
  const cases: [method: [old: string, now: string], params: object, code: number, reason: string][] = [
    [['tasks/get', 'GetTask'], { id: 'x' }, -32001, 'TASK_NOT_FOUND'],
    [['tasks/cancel', 'CancelTask'], { id }, -32002, 'TASK_NOT_CANCELABLE'],
    [
      ['tasks/pushNotificationConfig/list', 'ListTaskPushNotificationConfigs'],
      { id, taskId: id },
      -32003,
      'PUSH_NOTIFICATION_NOT_SUPPORTED'
    ],
    [['nothing', 'SubscribeToTask'], { id }, -32004, 'UNSUPPORTED_OPERATION'],
    [['nothing', 'GetExtendedAgentCard'], {}, -32004, 'UNSUPPORTED_OPERATION']
  ]
  for (const [[old, now], params, code, reason] of cases) {
    const { error } = await app.rpc(now, params)
    t.match(error, { code, data: [{ '@type': /ErrorInfo$/, reason, domain: 'a2a-protocol.org' }] })
    if (old !== 'nothing')
      t.match(await app.rpc(old, params), { error: { code, data: { code: /^A2A_ERR_/ } } })
  }
})

t.test('a service without an extended card says so in the words of the version', async (t) => {
  const { app, rpc } = await buildApp(t)
  t.match(await rpc('agent/getAuthenticatedExtendedCard'), { error: { code: -32007 } })
  t.match(await rpc('GetExtendedAgentCard'), { error: { code: -32004 } })
  const get = async (url: string) => (await app.inject({ url })).json<unknown>()
  t.match(await get('/a2a/v1/card'), { code: -32007 })
  t.match(await get('/a2a/extendedAgentCard'), {
    error: { code: 400, details: [{ reason: 'UNSUPPORTED_OPERATION' }] }
  })
})

t.test('the endpoint may have a slash at its end', async (t) => {
  for (const ignoreTrailingSlash of [false, true]) {
    const app = await buildApp(t, { fastify: { routerOptions: { ignoreTrailingSlash } } })
    t.match(await post({ ...app, url: `${app.url}/` }, call({ method: 'message/send', params: say('x') })), {
      status: 200,
      body: { result: { status: { state: 'completed' } } }
    })
  }
})

t.test('without an id, only a well-formed request is a notification', async (t) => {
  const app = await buildApp(t)
  const send = async (fields: object) => {
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...fields })
    })
    return { status: response.status, text: await response.text() }
  }
  for (const fields of [
    {},
    { method: 5 },
    { jsonrpc: '1.0', method: 'GetTask' },
    { method: 'GetTask', params: 'x' }
  ])
    t.match(
      JSON.parse((await send(fields)).text),
      { id: null, error: { code: -32600 } },
      JSON.stringify(fields)
    )
  for (const params of [undefined, {}, { id: 5 }, []])
    t.same(await send({ method: 'GetTask', params }), { status: 204, text: '' }, JSON.stringify(params))
})

t.test('prototype keys and unknown fields', async (t) => {
  const app = await buildApp(t, { runnables: [echo] })
  t.match(await post(app, '{"__proto__":{"x":1}}'), { body: { error: { code: -32700 } } })
  t.match(await app.rpc('message/send', { ...say('x'), more: 1 }), { result: { kind: 'task' } })
})
