import t from 'tap'
import type { OperationName } from '../../src/model/requests.ts'
import { OPERATION_NAMES, OPERATIONS } from '../../src/operations.ts'
import { buildApp, say, sayV1 } from '../helpers/build-app.ts'
import { ask, BINDINGS } from '../helpers/conformance-client.ts'

const PARAMS: Record<OperationName, object> = {
  send: sayV1('x'),
  stream: sayV1('x'),
  get: { id: 'x' },
  list: {},
  cancel: { id: 'x' },
  subscribe: { id: 'x' },
  setPushConfig: { taskId: 'x', url: 'https://example.org/' },
  getPushConfig: { taskId: 'x', id: 'x' },
  listPushConfigs: { taskId: 'x' },
  deletePushConfig: { taskId: 'x', id: 'x' },
  extendedCard: {}
}

t.test('a version that is not served is refused in every operation', async (t) => {
  const app = await buildApp(t)
  for (const binding of BINDINGS)
    for (const name of OPERATION_NAMES)
      for (const version of ['0.4', '1.1', '2.0', '10.0', '1', 'one', '1.0-beta', '١.٠']) {
        const header = /^[\x20-\x7e]*$/.test(version) ? { 'a2a-version': version } : { 'a2a-version': '?' }
        const { error, status } = await ask(app, binding, name, PARAMS[name], header)
        t.equal(status, binding === 'rpc' ? 200 : 400)
        t.match(error, {
          reason: 'VERSION_NOT_SUPPORTED',
          details: [{ metadata: { supportedVersions: '0.3, 1.0' } }]
        })
      }
})

t.test('the header, its spelling and the patch number do not matter', async (t) => {
  const app = await buildApp(t)
  for (const binding of BINDINGS)
    for (const headers of [
      { 'A2A-Version': '1.0' },
      { 'a2a-version': '1.0' },
      { 'A2A-VERSION': ' 1.0 ' },
      { 'a2a-version': '1.0.0' },
      { 'a2a-version': '1.0.1' },
      { 'a2a-version': '1.0.99' },
      { 'a2a-version': '' }
    ] as Record<string, string>[])
      t.match((await ask(app, binding, 'send', sayV1('x'), headers)).result.task, {
        status: { state: 'TASK_STATE_COMPLETED' }
      })
})

t.test('the version may be in the query', async (t) => {
  const app = await buildApp(t)
  const { id } = (await ask(app, 'rpc', 'send', sayV1('x'))).result.task
  const get = async (query: string, headers = {}) =>
    (await (await fetch(`${app.url}/tasks/${id}${query}`, { headers })).json()) as object
  t.match(await get('?A2A-Version=1.0'), { id })
  t.match(await get('?A2A-Version=1.0.1&historyLength=0'), { id })
  t.match(await get('?A2A-Version='), { id })
  t.match(await get('?A2A-Version=9.0'), { error: { details: [{ reason: 'VERSION_NOT_SUPPORTED' }] } })
  t.match(await get('?A2A-Version=9.0', { 'a2a-version': '1.0' }), { id }, 'the header comes first')
  const body = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id } }
  const post = async (query: string) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(app.url + query, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as object
  }
  t.match(await post('?A2A-Version=1.0'), { result: { id } })
  t.match(await post('?A2A-Version=9.0'), { error: { code: -32009 } })
})

t.test('a request without a version is one of 0.3', async (t) => {
  const app = await buildApp(t)
  for (const headers of [{}, { 'a2a-version': '' }, { 'a2a-version': '0.3' }] as Record<string, string>[]) {
    t.match(await app.rpc('message/send', say('x'), headers), { result: { kind: 'task' } })
    const card = await fetch(`${app.origin}/.well-known/agent-card.json`, { headers })
    t.match(await card.json(), { protocolVersion: '0.3.0', preferredTransport: 'JSONRPC' })
    // What has no method yet has errors of 0.3.
    const response = await fetch(app.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{'
    })
    t.match(await response.json(), { error: { code: -32700, data: { code: 'A2A_ERR_BAD_JSON' } } })
  }
})

t.test('a service of one version refuses the other by its name', async (t) => {
  const old = await buildApp(t, { options: { versions: ['0.3'] } })
  const current = await buildApp(t, { options: { versions: ['1.0'] } })
  t.match(await old.rpc('SendMessage', sayV1('x')), { error: { code: -32009 } })
  t.match(await old.rpc('message/send', say('x'), { 'a2a-version': '1.0' }), { error: { code: -32009 } })
  t.match(await current.rpc('message/send', say('x')), { error: { code: -32009 } })
  t.match(await current.rpc('SendMessage', sayV1('x'), { 'a2a-version': '0.3' }), { error: { code: -32009 } })
  t.equal((await fetch(`${old.url}/tasks`)).status, 404)
  t.equal((await fetch(`${current.url}/v1/tasks`)).status, 404)
})

t.test('a method of a version that is not served is refused for its version', async (t) => {
  const app = await buildApp(t)
  const headers = { 'a2a-version': '2.0' }
  t.match(await app.rpc('SendManyMessages', {}, headers), { error: { code: -32009 } })
  t.match(await app.rpc('SendManyMessages', {}, { 'a2a-version': '1.0' }), {
    error: { code: -32601, data: [{ reason: 'A2A_ERR_UNKNOWN_METHOD' }] }
  })
})

t.test('cards and answers name versions without a patch number', async (t) => {
  const app = await buildApp(t)
  const headers = { 'a2a-version': '1.0' }
  const card = (await (await fetch(`${app.origin}/.well-known/agent-card.json`, { headers })).json()) as {
    supportedInterfaces: { protocolVersion: string }[]
  }
  for (const { protocolVersion } of card.supportedInterfaces) t.match(protocolVersion, /^\d+\.\d+$/)
})

t.test('each operation has the names of the specification, and no others', async (t) => {
  t.same(
    OPERATION_NAMES.map((name) => OPERATIONS[name].rpc['1.0']),
    [
      'SendMessage',
      'SendStreamingMessage',
      'GetTask',
      'ListTasks',
      'CancelTask',
      'SubscribeToTask',
      'CreateTaskPushNotificationConfig',
      'GetTaskPushNotificationConfig',
      'ListTaskPushNotificationConfigs',
      'DeleteTaskPushNotificationConfig',
      'GetExtendedAgentCard'
    ]
  )
  t.same(
    OPERATION_NAMES.map((name) => OPERATIONS[name].rest['1.0'][0]?.replaceAll(/\{\w+\}/g, '{}')),
    [
      'POST /message:send',
      'POST /message:stream',
      'GET /tasks/{}',
      'GET /tasks',
      'POST /tasks/{}:cancel',
      'POST /tasks/{}:subscribe',
      'POST /tasks/{}/pushNotificationConfigs',
      'GET /tasks/{}/pushNotificationConfigs/{}',
      'GET /tasks/{}/pushNotificationConfigs',
      'DELETE /tasks/{}/pushNotificationConfigs/{}',
      'GET /extendedAgentCard'
    ]
  )
})
