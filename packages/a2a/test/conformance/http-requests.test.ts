import http from 'node:http'
import t from 'tap'
import { createQuestioner } from '../helpers/agents.ts'
import { buildApp, echo, sayV1 } from '../helpers/build-app.ts'
import { ask } from '../helpers/conformance-client.ts'

const ONE = 'https://example.org/ext/one/v1'
const TWO = 'https://example.org/ext/two/v1'

t.test(
  'names of service parameters have any case; several values are a list, in one field or more',
  async (t) => {
    const { app } = await buildApp(t, { options: { extensions: [{ uri: ONE }, { uri: TWO }] } })
    const { port } = app.server.address() as { port: number }
    const active = (headers: string[], path: string) =>
      new Promise<string | undefined>((resolve, reject) => {
        const request = http.request(
          { port, path, headers: [...headers, 'host', 'localhost'] },
          (response) => {
            response.resume()
            response.on('end', () => resolve(response.headers['a2a-extensions'] as string | undefined))
          }
        )
        request.on('error', reject)
        request.end()
      })
    for (const headers of [
      ['A2A-Extensions', `${ONE},${TWO}`],
      ['a2a-extensions', `${ONE} , ${TWO}`],
      ['A2A-EXTENSIONS', `${TWO},${ONE}`],
      ['A2A-Extensions', ONE, 'a2a-extensions', TWO]
    ])
      t.same((await active(headers, '/a2a/tasks'))?.split(', ').toSorted(), [ONE, TWO], headers.join())
    t.equal(await active([], '/a2a/tasks'), undefined)
  }
)

t.test('requests without a body take their parameters from the path and the query', async (t) => {
  const app = await buildApp(t, {
    runnables: [echo, createQuestioner(undefined)],
    options: { pushNotifications: { allowPrivate: true } }
  })
  const contextId = 'a/b c&d=ä?#%'
  const { task } = (await ask(app, 'rest', 'send', sayV1('x', { contextId }))).result
  await ask(app, 'rest', 'send', sayV1('x', { metadata: { agentName: 'questioner' } }))
  const get = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(app.url + path, init)
    return (await response.json()) as Record<string, unknown> & { tasks: object[] }
  }
  const encoded = encodeURIComponent(contextId)
  t.match(await get(`/tasks?contextId=${encoded}`), { tasks: [{ id: task.id, contextId }], totalSize: 1 })
  t.match(await get(`/tasks?contextId=${encoded.replaceAll('%20', '+')}`), { totalSize: 1 })
  t.match(await get('/tasks?status=TASK_STATE_INPUT_REQUIRED'), { totalSize: 1 })
  t.match(await get('/tasks?pageSize=1'), { pageSize: 1, totalSize: 2, tasks: { length: 1 } })
  t.ok('artifacts' in (await get('/tasks?includeArtifacts=true')).tasks[0]!)
  t.notOk('artifacts' in (await get('/tasks?includeArtifacts=false')).tasks[0]!)
  t.match(await get('/tasks?statusTimestampAfter=2099-01-01T00%3A00%3A00Z'), { totalSize: 0 })
  t.match(await get('/tasks?statusTimestampAfter=2025-11-09T10:30:00Z&historyLength=0'), { totalSize: 2 })
  t.notOk('history' in (await get(`/tasks/${task.id}?historyLength=0`)))
  const { nextPageToken } = await get('/tasks?pageSize=1')
  t.match(await get(`/tasks?pageSize=1&pageToken=${encodeURIComponent(String(nextPageToken))}`), {
    nextPageToken: '',
    tasks: { length: 1 }
  })
  for (const wrong of ['pageSize=x', 'pageSize=1&pageSize=2', 'includeArtifacts=TRUE', 'status=working'])
    t.match(await get(`/tasks?${wrong}`), { error: { code: 400 } }, wrong)

  const id = 'config/1 ä'
  const { result } = await ask(app, 'rest', 'setPushConfig', {
    taskId: task.id,
    id,
    url: 'http://127.0.0.1:9/'
  })
  t.equal(result.id, id)
  const path = `/tasks/${task.id}/pushNotificationConfigs/${encodeURIComponent(id)}`
  t.match(await get(path), { id })
  t.same(await get(path, { method: 'DELETE' }), {})
  t.match(await get(path), { error: { code: 404 } })
})

t.test('a configuration can be read by its id, however long the service lets it be', async (t) => {
  const app = await buildApp(t, { options: { pushNotifications: { allowPrivate: true } } })
  const taskId = (await ask(app, 'rpc', 'send', sayV1('x'))).result.task.id as string
  const config = { taskId, id: 'i'.repeat(100), url: 'http://127.0.0.1:9/' }
  t.match((await ask(app, 'rpc', 'setPushConfig', config)).result, config)
  t.match((await ask(app, 'rest', 'getPushConfig', config)).result, config)
  const long = { ...config, id: 'i'.repeat(101) }
  t.match((await ask(app, 'rpc', 'setPushConfig', long)).error, { code: -32602, fields: ['id'] })
  t.match((await ask(app, 'rest', 'setPushConfig', long)).error, { code: 400, fields: ['id'] })
})

t.test('a POST without a body, or with an empty object, is a request without parameters', async (t) => {
  const app = await buildApp(t, { runnables: [createQuestioner(undefined)] })
  for (const body of [undefined, '', '{}']) {
    const { task } = (await ask(app, 'rpc', 'send', sayV1('x'))).result
    const response = await fetch(`${app.url}/tasks/${task.id}:cancel`, {
      method: 'POST',
      ...(body !== undefined && { headers: { 'content-type': 'application/a2a+json' }, body })
    })
    t.match(await response.json(), { id: task.id, status: { state: 'TASK_STATE_CANCELED' } })
  }
})

t.test('JSON is of UTF-8', async (t) => {
  const app = await buildApp(t)
  const text = 'ä 日本 🙂 \u2028'
  for (const type of ['application/json', 'application/a2a+json', 'application/json; charset=utf-8']) {
    const response = await fetch(`${app.url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: JSON.stringify(sayV1(text))
    })
    t.match(await response.json(), { task: { artifacts: [{ parts: [{ text }] }] } }, type)
  }
  const response = await fetch(`${app.url}/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from([...Buffer.from('{"a":"'), 0xff, ...Buffer.from('"}')])
  })
  t.equal(response.status, 400)
  for (const other of [
    { 'content-encoding': 'gzip' },
    { 'content-type': 'application/json; charset=latin1' }
  ]) {
    const refused = await fetch(`${app.url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...other },
      body: JSON.stringify(sayV1(text))
    })
    t.match(await refused.text(), /content type is not supported: it must/)
  }
})
