import a2a from '@svc/a2a'
import type { RunnableDefinition } from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'
import { asker, createWaiting } from '../helpers/agents.ts'
import { askRoute } from '../helpers/ask-route.ts'
import { anyone, buildApp, echo, eventsOf, say, sayV1, type TestApp } from '../helpers/build-app.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'

const CARD = '/.well-known/agent-card.json'
const named = (name: string) => ({ ...echo, name })
const restMessage = { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] }

/** An agent that keeps a file. */
const maker: RunnableDefinition = {
  kind: 'agent',
  name: 'the maker',
  async *stream(_input, { runId, stores }) {
    const file = { mimeType: 'text/csv', filename: 'a.csv', content: Buffer.from('a,b') }
    const { createdAt: _, ...kept } = await stores.files!.put(runId, file)
    yield { type: 'file', ...kept, purpose: 'download' }
  }
}

/** JSON-RPC at the endpoint of an agent. */
async function rpc(app: TestApp, agent: string, method: string, params: object, headers = {}) {
  const call = { jsonrpc: '2.0', id: 1, method, params }
  return (await askRoute(app, `POST /agents/${encodeURIComponent(agent)}`, call, headers)).body
}

t.test('the card of one agent has its own endpoint, in the form of every version', async (t) => {
  const app = await buildApp(t, { runnables: ['first', 'my agent'].map(named), options: { name: 'All' } })
  const url = `${app.url}/agents/my%20agent`
  const { body: both } = await askRoute(app, `GET /agents/my%20agent${CARD}`)
  t.match(both, {
    name: 'my agent',
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url }, { url, transport: 'HTTP+JSON' }],
    supportedInterfaces: [{ url, protocolVersion: '1.0' }, { url }, { url, protocolVersion: '0.3' }, { url }],
    skills: [{ id: 'my agent' }]
  })
  t.equal(both.skills.length, 1)
  t.notMatch(JSON.stringify(both), /"tenant"/)
  t.same((await askRoute(app, 'GET /agents/my%20agent/.well-known/agent.json')).body, both)
  t.same((await askRoute(app, 'GET /.well-known/my%20agent/agent-card.json')).body, both)
  const { body: pure } = await askRoute(app, `GET /agents/my%20agent${CARD}`, undefined, {
    'a2a-version': '1.0'
  })
  t.same(faultsOf('1.0', 'AgentCard', pure), [])
  t.match(pure, { supportedInterfaces: [{ url }, { url }, { url }, { url }] })
  t.equal((await askRoute(app, `HEAD /agents/first${CARD}`)).status, 200)
  t.equal((await askRoute(app, `GET /agents/nobody${CARD}`)).status, 404)

  for (const version of ['0.3', '1.0'] as const) {
    const one = await buildApp(t, { runnables: [named('ada')], options: { versions: [version] } })
    t.same(faultsOf(version, 'AgentCard', (await askRoute(one, `GET /agents/ada${CARD}`)).body), [], version)
    t.equal((await askRoute(one, `GET /ada${CARD}`)).status, version === '1.0' ? 200 : 404, 'as a tenant')
  }
})

t.test('every message to the endpoint of an agent goes to it', async (t) => {
  const app = await buildApp(t, { runnables: ['first', 'ada'].map(named) })
  const mine = { metadata: { agentName: 'ada' } }
  t.match(await rpc(app, 'ada', 'message/send', say('hello first')), { result: { kind: 'task', ...mine } })
  t.match(await rpc(app, 'ada', 'SendMessage', sayV1('hello first')), { result: { task: mine } })
  const call = { jsonrpc: '2.0', id: 1, method: 'message/stream', params: say('first') }
  const events = eventsOf((await askRoute(app, 'POST /agents/ada/', call)).text)
  t.match(events[0], { result: mine })
  t.match(events.at(-1), { result: { final: true, status: { state: 'completed' } } })
  t.match((await askRoute(app, 'POST /agents/ada/v1/message:send', { message: restMessage })).body, {
    task: mine
  })
  t.match((await askRoute(app, 'POST /agents/ada/message%3Asend', sayV1('first'))).body, { task: mine })
  t.match(eventsOf((await askRoute(app, 'POST /agents/ada/message:stream', sayV1('x'))).text)[0], {
    task: mine
  })
  t.match(await rpc(app, 'ada', 'SendMessage', { tenant: 'ada', ...sayV1('x') }), { result: { task: mine } })
  const known = { error: { code: -32602, message: /known: "ada"/ } }
  t.match(await rpc(app, 'ada', 'SendMessage', { tenant: 'first', ...sayV1('x') }), known)
  t.match(await rpc(app, 'ada', 'message/send', say('x', { metadata: { agentName: 'first' } })), known)
})

t.test('tasks of other agents do not exist there', async (t) => {
  const waiting = createWaiting('ada')
  const app = await buildApp(t, {
    runnables: [waiting.runnable, named('bob'), asker],
    options: { pushNotifications: { allowPrivate: true } }
  })
  const sent = { ...say('x'), configuration: { blocking: false } }
  const { id } = (await rpc(app, 'ada', 'message/send', sent)).result
  await rpc(app, 'bob', 'message/send', say('x'))
  const config = { taskId: id, pushNotificationConfig: { id: 'p', url: 'http://127.0.0.1:9/' } }
  for (const [method, params] of [
    ['tasks/get', { id }],
    ['tasks/cancel', { id }],
    ['tasks/resubscribe', { id }],
    ['message/send', say('approve', { taskId: id })],
    ['tasks/pushNotificationConfig/set', config]
  ] as const)
    t.match(await rpc(app, 'bob', method, params), { error: { code: -32001 } }, method)
  t.equal((await askRoute(app, `GET /agents/bob/v1/tasks/${id}`)).status, 404)
  t.equal((await askRoute(app, `GET /agents/bob/tasks/${id}`)).status, 404)
  t.match((await askRoute(app, 'GET /agents/ada/tasks')).body, { totalSize: 1, tasks: [{ id }] })
  t.match((await askRoute(app, 'GET /agents/asker/v1/tasks')).body, { tasks: [] })
  t.match(await rpc(app, 'ada', 'tasks/pushNotificationConfig/set', config), { result: { taskId: id } })
  t.match((await askRoute(app, `GET /agents/ada/v1/tasks/${id}`)).body, { id })
  t.match((await askRoute(app, `POST /agents/ada/v1/tasks/${id}:cancel`)).body, { id })
  const asked = (await rpc(app, 'asker', 'message/send', say('x'))).result
  t.match(await rpc(app, 'asker', 'message/send', say('approve', { taskId: asked.id })), {
    result: { status: { state: 'completed' } }
  })
})

t.test('files of its tasks are below its endpoint', async (t) => {
  const app = await buildApp(t, { runnables: [maker, named('bob')] })
  const { id, artifacts } = (await rpc(app, 'the maker', 'message/send', say('x'))).result
  const { uri } = artifacts[0].parts[0].file as { uri: string }
  t.match(uri, `${app.url}/agents/the%20maker/tasks/${id}/files/`)
  t.equal(await (await fetch(uri)).text(), 'a,b')
  t.equal((await fetch(uri, { headers: { range: 'bytes=0-0' } })).status, 206)
  t.equal((await fetch(uri, { method: 'HEAD' })).headers.get('content-length'), '3')
  t.equal((await fetch(uri.replace('the%20maker', 'bob'))).status, 404)
  t.equal((await fetch(uri.replace('/agents/the%20maker', ''))).status, 200)
})

t.test('the endpoint is guarded, and has an extended card of its own', async (t) => {
  const { app, url } = await buildApp(t, {
    runnables: ['ada', 'bob'].map(named),
    options: {
      authenticate: ({ token }) => (token === undefined ? null : { sub: token, scopes: [] }),
      authorize: ({ sub }, _action, { name }) => ({ allowed: name !== 'bob' || sub === 'root' }),
      extendedCard: (card, { sub }) => ({ ...card, description: `for ${sub}` })
    }
  })
  const send = (path: string, token?: string) =>
    app.inject({
      method: 'POST',
      url: `/a2a/agents/${path}`,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      payload: { jsonrpc: '2.0', id: 1, method: 'message/send', params: say('x') }
    })
  t.equal((await send('ada')).statusCode, 401)
  t.equal((await app.inject('/a2a/agents/ada/v1/tasks')).statusCode, 401)
  t.equal((await app.inject('/a2a/agents/ada/tasks/x/files/y')).statusCode, 401)
  t.equal((await app.inject(`/a2a/agents/ada${CARD}`)).statusCode, 200)
  t.match((await send('ada', 'me')).json(), { result: { metadata: { agentName: 'ada' } } })
  t.equal((await send('bob', 'me')).statusCode, 403)
  t.match((await send('bob', 'root')).json(), { result: { kind: 'task' } })
  const headers = { authorization: 'Bearer me' }
  for (const path of ['v1/card', 'extendedAgentCard']) {
    const card = (await app.inject({ url: `/a2a/agents/ada/${path}`, headers })).json<object>()
    t.match(card, { name: 'ada', description: 'for me' })
    t.match(JSON.stringify(card), `${new URL(url).pathname}/agents/ada"`)
  }
})

t.test('errors have the form of the path, and a body that is no JSON is refused', async (t) => {
  const app = await buildApp(t)
  t.match((await askRoute(app, 'GET /agents/echo/v1/tasks/x')).body, { code: -32001 })
  t.match((await askRoute(app, 'GET /agents/echo/tasks/x')).body, {
    error: { code: 404, status: 'NOT_FOUND' }
  })
  t.match(await rpc(app, 'echo', 'tasks/get', { id: 'x' }), { error: { code: -32001 } })
  t.match(await rpc(app, 'echo', 'tasks/get', { id: 'x' }, { 'a2a-version': '7.0' }), {
    error: { code: -32009 }
  })
  const bad = await fetch(`${app.url}/agents/echo`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{'
  })
  t.match(await bad.json(), { error: { code: -32700 }, id: null })
})

t.test('endpoints follow agents that are added and removed', async (t) => {
  const app = await buildApp(t)
  t.equal((await askRoute(app, 'POST /agents/later', {})).status, 404)
  app.app.registry.add(named('later'))
  t.match(await rpc(app, 'later', 'message/send', say('x')), { result: { metadata: { agentName: 'later' } } })
  app.app.registry.remove('agent', 'later')
  t.equal((await askRoute(app, 'POST /agents/later', {})).status, 404)
})

t.test('agents named as the paths are still reached', async (t) => {
  const app = await buildApp(t, { runnables: ['agents', 'tasks', '.well-known'].map(named) })
  for (const name of ['agents', 'tasks', '.well-known'])
    t.match(await rpc(app, name, 'message/send', say('x')), { result: { metadata: { agentName: name } } })
  t.match((await askRoute(app, 'POST /agents/message:send', sayV1('x'))).body, {
    task: { metadata: { agentName: 'agents' } }
  })
  t.match((await askRoute(app, 'GET /agents/tasks')).body, { totalSize: 2 })
})

t.test('the path is an option, below a prefix and the public URL too', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const agents = ['ada', 'bob'].map(named)
  await app.register(a2a, { prefix: '/api', agentPath: '/a2a', agents, authenticate: anyone })
  await app.register(a2a, { basePath: '/x', agents, url: 'https://example.org/y/' })
  const payload = { jsonrpc: '2.0', id: 1, method: 'message/send', params: say('x') }
  const reply = await app.inject({ method: 'POST', url: '/api/a2a/bob', payload })
  t.match(reply.json(), { result: { metadata: { agentName: 'bob' } } })
  t.match((await app.inject('/api/.well-known/bob/agent-card.json')).json(), { url: /\/api\/a2a\/bob$/ })
  t.equal((await app.inject({ method: 'POST', url: '/api/agents/bob', payload })).statusCode, 404)
  t.match((await app.inject(`/x/agents/bob${CARD}`)).json(), { url: 'https://example.org/y/agents/bob' })
})

t.test('paths that the app takes are left alone', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.get('/.well-known/:name/agent-card.json', ({ params }) => params)
  await app.register(a2a, { agents: [echo] })
  app.post('/agents/:name', ({ params }) => params)
  t.same((await app.inject({ method: 'POST', url: '/agents/echo' })).json(), { name: 'echo' })
  t.same((await app.inject('/.well-known/echo/agent-card.json')).json(), { name: 'echo' })
  const call = { jsonrpc: '2.0', id: 1, method: 'message/send', params: say('x') }
  t.equal((await app.inject({ method: 'POST', url: '/agents/echo/', payload: call })).statusCode, 200)
})
