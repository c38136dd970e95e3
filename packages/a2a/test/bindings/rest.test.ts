import t from 'tap'
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
