import t from 'tap'
import { asker, createWaiting } from '../helpers/agents.ts'
import { askRoute } from '../helpers/ask-route.ts'
import { anyone, buildApp, echo, eventsOf, say, sayV1 } from '../helpers/build-app.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'

const named = (name: string) => ({ ...echo, name })

t.test('a tenant is an agent, on both bindings', async (t) => {
  const app = await buildApp(t, { runnables: ['first', 'ada', 'my agent'].map(named) })
  const ways: [name: string, send: (tenant: string, message: object) => Promise<unknown>][] = [
    ['JSON-RPC', async (tenant, said) => (await app.rpc('SendMessage', { tenant, ...said })).result],
    ['a path', async (tenant, said) => (await askRoute(app, `POST /${tenant}/message:send`, said)).body],
    ['a body', async (tenant, said) => (await askRoute(app, 'POST /message:send', { tenant, ...said })).body],
    [
      'a path, over a body',
      async (tenant, said) =>
        (await askRoute(app, `POST /${tenant}/message%3Asend`, { tenant: 'first', ...said })).body
    ]
  ]
  for (const [name, send] of ways) {
    const agentOf = async (tenant: string, text: string, fields = {}) => {
      const reply = (await send(tenant, sayV1(text, fields))) as { task: { metadata: object } }
      return reply.task.metadata
    }
    t.match(await agentOf('ada', 'hello'), { agentName: 'ada' }, name)
    t.match(await agentOf('ada', 'hello first'), { agentName: 'ada' }, 'more than a mention')
    t.match(await agentOf('ada', 'hello', { metadata: { agentName: 'ada' } }), { agentName: 'ada' })
  }
  t.match(await askRoute(app, 'POST /my%20agent/message:send', sayV1('x')), {
    body: { task: { metadata: { agentName: 'my agent' } } }
  })
  t.match(await app.rpc('SendMessage', { tenant: '', ...sayV1('x') }), {
    result: { task: { metadata: { agentName: 'first' } } }
  })
  t.match(await askRoute(app, 'POST /ada/message:stream', sayV1('x')), { text: /"agentName":"ada"/ })
})

t.test('an unknown tenant, and a message that contradicts its tenant', async (t) => {
  const app = await buildApp(t, { runnables: ['first', 'ada'].map(named) })
  const unknown = { code: -32602, message: /tenant: No agent "bob"; known: "first", "ada"/ }
  for (const [method, params] of [
    ['SendMessage', sayV1('x')],
    ['GetTask', { id: 'x' }],
    ['ListTasks', {}],
    ['GetExtendedAgentCard', {}]
  ] as const)
    t.match(await app.rpc(method, { tenant: 'bob', ...params }), { error: unknown }, method)
  t.match(await app.rpc('ListTasks', { tenant: 1 }), { error: { code: -32602, message: /tenant/ } })
  t.match(await askRoute(app, 'GET /tasks?tenant=bob'), {
    status: 400,
    body: { error: { details: [{}, { fieldViolations: [{ field: 'tenant' }] }] } }
  })
  t.match(await askRoute(app, 'DELETE /tasks/x/pushNotificationConfigs/y?tenant=bob'), {
    body: { error: { message: /tenant: No agent "bob"/ } }
  })
  const said = sayV1('x', { metadata: { agentName: 'first' } })
  t.match(await app.rpc('SendMessage', { tenant: 'ada', ...said }), {
    error: { code: -32602, message: /No agent "first"; known: "ada"/ }
  })
  // Versions before 1.0 have no such field.
  t.match(await app.rpc('message/send', { tenant: 'bob', ...say('x') }), { result: { kind: 'task' } })
})

t.test('a tenant sees the tasks of its agent only', async (t) => {
  const waiting = createWaiting('ada')
  const app = await buildApp(t, { runnables: [waiting.runnable, named('bob'), asker] })
  const configuration = { returnImmediately: true }
  const { result } = await app.rpc('SendMessage', { tenant: 'ada', ...sayV1('x'), configuration })
  const { id } = result.task
  await app.rpc('SendMessage', { tenant: 'bob', ...sayV1('x') })
  t.match(await app.rpc('ListTasks', { tenant: 'ada' }), { result: { totalSize: 1, tasks: [{ id }] } })
  t.match((await askRoute(app, 'GET /bob/tasks')).body, { totalSize: 1 })
  t.match((await askRoute(app, 'GET /tasks')).body, { totalSize: 2 })
  for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask'])
    t.match(await app.rpc(method, { tenant: 'bob', id }), { error: { code: -32001 } }, method)
  for (const route of ['GET /bob/tasks/', 'POST /bob/tasks/:cancel', 'GET /bob/tasks/:subscribe'])
    t.match(
      await askRoute(app, route.replace('tasks/', `tasks/${id}`)),
      { status: 404, body: { error: {} } },
      route
    )
  t.match((await askRoute(app, `GET /ada/tasks/${id}`)).body, { id })
  t.match((await askRoute(app, `POST /ada/tasks/${id}:cancel`)).body, { id })

  const asked = await app.rpc('SendMessage', { tenant: 'asker', ...sayV1('x') })
  const answer = sayV1('approve', { taskId: asked.result.task.id })
  t.match(await app.rpc('SendMessage', { tenant: 'bob', ...answer }), { error: { code: -32001 } })
  t.match(await app.rpc('SendMessage', { tenant: 'asker', ...answer }), {
    result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } }
  })
})

t.test('a message repeated to another tenant is another request', async (t) => {
  const { rpc } = await buildApp(t, {
    runnables: ['ada', 'bob'].map(named),
    options: { authenticate: anyone }
  })
  const said = sayV1('x')
  const { result } = await rpc('SendMessage', { tenant: 'ada', ...said })
  t.match(await rpc('SendMessage', { tenant: 'ada', ...said }), { result: { task: { id: result.task.id } } })
  t.not((await rpc('SendMessage', { tenant: 'bob', ...said })).result.task.id, result.task.id)
})

t.test('the card of each agent names it as the tenant', async (t) => {
  const app = await buildApp(t, {
    runnables: ['ada', 'my agent'].map(named),
    options: { name: 'All', authenticate: anyone, extendedCard: (card) => ({ ...card, description: 'more' }) }
  })
  const { url } = app
  const card = await askRoute(app, 'GET /ada/.well-known/agent-card.json')
  t.same(faultsOf('1.0', 'AgentCard', card.body), [])
  t.match(card.body, {
    name: 'ada',
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: 'ada' },
      { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: 'ada' }
    ],
    skills: [{ id: 'ada' }]
  })
  t.equal(card.body.supportedInterfaces.length, 2, 'earlier versions have no tenants')
  t.equal((await askRoute(app, 'GET /nobody/.well-known/agent-card.json')).status, 404)
  t.equal((await askRoute(app, 'HEAD /ada/.well-known/agent-card.json')).status, 200)
  t.match((await askRoute(app, 'GET /my%20agent/extendedAgentCard')).body, {
    name: 'my agent',
    description: 'more',
    supportedInterfaces: [{ tenant: 'my agent' }, { tenant: 'my agent' }]
  })
  t.notMatch((await askRoute(app, 'GET /extendedAgentCard')).text, /tenant/)
})

t.test('paths follow agents that are added and removed', async (t) => {
  const app = await buildApp(t, { runnables: [echo] })
  t.equal((await askRoute(app, 'GET /later/tasks')).status, 404)
  app.app.registry.add(named('later'))
  t.match(await askRoute(app, 'GET /later/tasks'), { status: 200, body: { tasks: [] } })
  app.app.registry.remove('agent', 'later')
  t.equal((await askRoute(app, 'GET /later/tasks')).status, 404)
})

t.test('without 1.0 there are no tenants', async (t) => {
  const app = await buildApp(t, { options: { versions: ['0.3'] } })
  t.equal((await askRoute(app, 'GET /echo/tasks')).status, 404)
  t.equal((await askRoute(app, 'GET /echo/.well-known/agent-card.json')).status, 404)
})

t.test('an unknown path below an agent’s name is not found', async (t) => {
  const app = await buildApp(t)
  for (const route of [
    'GET /echo',
    'GET /echo/',
    'GET /echo/message:send',
    'GET /echo/tasks/x/y',
    'POST /echo/tasks',
    'POST /echo/v1/message:send',
    'GET /echo/v1/tasks'
  ])
    t.match(await askRoute(app, route), { status: 404, body: { message: /^Route / } }, route)
  t.equal((await askRoute(app, 'GET /%zz/tasks')).status, 400)
  t.equal((await askRoute(app, 'GET /echo/tasks/%zz')).status, 400)
  const deep = eventsOf((await askRoute(app, 'POST /echo/message:stream', sayV1('x'))).text)
  t.match(deep.at(-1), { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
})
