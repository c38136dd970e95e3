import t from 'tap'
import { defineRunnable } from '@svc/registry'
import { buildApp, sayV1 } from '../helpers/build-app.ts'

t.test('colons may be escaped, as some clients do', async (t) => {
  const { app } = await buildApp(t)
  const post = (url: string, payload: object = {}) =>
    app.inject({
      method: 'POST',
      url: `/a2a${url}`,
      headers: { 'content-type': 'application/json' },
      payload
    })
  const content = [{ text: 'x' }]
  for (const colon of [':', '%3A', '%3a']) {
    const { task } = (await post(`/message${colon}send`, sayV1('x'))).json<{ task: { id: string } }>()
    t.match(task, { status: { state: 'TASK_STATE_COMPLETED' } }, colon)
    t.match((await post(`/message${colon}stream`, sayV1('x'))).body, /TASK_STATE_COMPLETED/)
    const legacy = await post(`/v1/message${colon}send`, { message: { role: 'ROLE_USER', content } })
    t.match(legacy.json(), { task: { status: { state: 'TASK_STATE_COMPLETED' } } })
    t.match((await post(`/tasks/${task.id}${colon}cancel`)).json(), { error: { code: 400 } })
  }
  t.equal((await post('/message%3Bsend', sayV1('x'))).statusCode, 404)
})

t.test('in 0.3, values that must be objects are checked', async (t) => {
  const { app } = await buildApp(t)
  const message = { role: 'ROLE_USER', content: [{ text: 'x' }] }
  const cases: [field: string, payload: object][] = [
    ...[null, 'x', [], { data: null }].map((data): [string, object] => [
      'message.parts.0.data',
      { message: { ...message, content: [{ data }] } }
    ]),
    ...['x', 5, [], [1]].map((configuration): [string, object] => [
      'configuration',
      { message, configuration }
    ])
  ]
  for (const [field, payload] of cases) {
    const response = await app.inject({ method: 'POST', url: '/a2a/v1/message:send', payload })
    t.equal(response.statusCode, 400, JSON.stringify(payload))
    t.match(response.json(), { code: -32602, data: { errors: [{ field }] } })
  }
})

t.test('in 0.3, a configuration that does not name `blocking` does not wait', async (t) => {
  const gate = Promise.withResolvers<void>()
  const slow = defineRunnable({ kind: 'agent', name: 'slow', run: () => gate.promise.then(() => 'done') })
  const { app } = await buildApp(t, { runnables: [slow] })
  const message = { role: 'ROLE_USER', content: [{ text: 'x' }] }
  const send = async (fields: object) =>
    (
      await app.inject({ method: 'POST', url: '/a2a/v1/message:send', payload: { message, ...fields } })
    ).json<unknown>()
  t.match(await send({ configuration: {} }), { task: { status: { state: 'TASK_STATE_WORKING' } } })
  t.match(await send({ configuration: { historyLength: 1 } }), {
    task: { status: { state: 'TASK_STATE_WORKING' } }
  })
  gate.resolve()
  for (const fields of [{}, { configuration: { blocking: true } }])
    t.match(await send(fields), { task: { status: { state: 'TASK_STATE_COMPLETED' } } })
})

t.test('1.0 has a media type of its own, except for clients that ask for plain JSON alone', async (t) => {
  const { app } = await buildApp(t)
  const typeOf = async (
    accept: string | undefined,
    url = '/a2a/message:send',
    payload: object = sayV1('x')
  ) => {
    const headers = accept === undefined ? {} : { accept }
    const response = await app.inject({ method: 'POST', url, headers, payload })
    return String(response.headers['content-type']).split(';')[0]
  }
  for (const accept of [undefined, '*/*', 'application/a2a+json', 'application/json, text/plain, */*'])
    t.equal(await typeOf(accept), 'application/a2a+json', accept ?? 'none')
  for (const accept of ['application/json', 'Application/JSON; q=0.9', 'application/json, text/event-stream'])
    t.equal(await typeOf(accept), 'application/json', accept)
  t.equal(await typeOf(undefined, '/a2a/message:send', {}), 'application/a2a+json', 'errors too')
  const legacy = { message: { role: 'ROLE_USER', content: [{ text: 'x' }] } }
  t.equal(await typeOf(undefined, '/a2a/v1/message:send', legacy), 'application/json')
})

t.test('a body that is not JSON by its type is refused with the status of the version', async (t) => {
  const { app } = await buildApp(t)
  const send = (url: string) =>
    app.inject({ method: 'POST', url, headers: { 'content-type': 'text/plain' }, payload: '{}' })
  const current = await send('/a2a/message:send')
  t.equal(current.statusCode, 400)
  t.match(current.json(), { error: { code: 400, details: [{ reason: 'CONTENT_TYPE_NOT_SUPPORTED' }] } })
  t.equal((await send('/a2a/v1/message:send')).statusCode, 415)
})
