import a2a from '@svc/a2a'
import registryPlugin, { createRegistry } from '@svc/registry'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { echo, sayV1 } from '../helpers/build-app.ts'

const named = (name: string) => ({ ...echo, name })
const refuse = () => {
  throw Object.assign(new Error('no'), { name: 'NoToken' })
}

/** An app with routes and a 404 of its own, with the plugin at the root, or without it for comparison. */
async function build(t: { teardown(fn: () => unknown): unknown }, withA2a: boolean, first: boolean) {
  const app = Fastify()
  t.teardown(() => app.close())
  const registry = createRegistry()
  for (const name of ['echo', 'users', 'v1']) registry.add(named(name))
  await app.register(registryPlugin, { registry })
  const serve = async () => withA2a && app.register(a2a, { authenticate: refuse })
  if (first) await serve()
  app.get('/users/tasks', () => 'static')
  app.get('/users/tasks/:id', () => 'static, then a parameter')
  app.get('/shop/:a/:b', () => 'parameters')
  app.post('/:any/message', () => 'a parameter first')
  app.get('/files/*', () => 'a wildcard')
  app.setNotFoundHandler((request, reply) => reply.code(404).send(`mine: ${request.method} ${request.url}`))
  if (!first) await serve()
  return app
}

const long = 'x'.repeat(200)
const ASKED = [
  'GET /users/tasks',
  'GET /users/tasks/1',
  'GET /shop/tasks/1',
  'POST /echo/message',
  'GET /files/a/tasks',
  'GET /nobody/tasks',
  'POST /nobody/message:send',
  'GET /nobody/.well-known/agent-card.json',
  'GET /x',
  `GET /${long}`,
  `GET /${long}/tasks`,
  `POST /${long}/message:send`,
  'DELETE /echo',
  'PUT /echo/tasks',
  'GET /echo/x',
  'GET /echo/tasks/1/2',
  'GET /?a=/echo/tasks',
  'GET /echo?a=/tasks',
  'GET //tasks',
  'GET /%zz/tasks',
  'GET /a%2Fb/tasks',
  'OPTIONS /echo/tasks',
  'GET /Echo/tasks'
]

const ask = async (app: FastifyInstance, route: string) => {
  const [method, url] = route.split(' ') as ['GET', string]
  const { statusCode, body, headers } = await app.inject({ method, url })
  return { statusCode, body, type: headers['content-type'] }
}

for (const first of [true, false])
  t.test(`at the root, registered ${first ? 'before' : 'after'} the app’s routes`, async (t) => {
    const app = await build(t, true, first)
    const without = await build(t, false, first)
    for (const route of ASKED) t.same(await ask(app, route), await ask(without, route), route)
    for (const route of ['GET /echo/tasks', 'POST /echo/message:send', 'GET /users/extendedAgentCard'])
      t.match(await ask(app, route), { statusCode: 401 }, `${route} is ours`)
    t.match(await ask(app, 'GET /echo/.well-known/agent-card.json'), { statusCode: 200 })
  })

t.test('routes of the app take precedence over those of agents', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(a2a, { agents: [echo] })
  app.get('/:user/tasks', ({ params }) => params)
  app.get('/*', ({ params }) => params)
  app.post('/*', ({ params }) => params)
  t.same((await app.inject('/echo/tasks')).json(), { user: 'echo' })
  t.same((await app.inject('/bob/tasks')).json(), { user: 'bob' })
  t.same((await app.inject('/echo/else')).json(), { '*': 'echo/else' })
  t.same((await app.inject('/bob/extendedAgentCard')).json(), { '*': 'bob/extendedAgentCard' })
  const payload = sayV1('x')
  const post = async (url: string) => (await app.inject({ method: 'POST', url, payload })).json<object>()
  t.match(await post('/echo/message:send'), { task: { status: { state: 'TASK_STATE_COMPLETED' } } })
  t.same(await post('/bob/message:send'), { '*': 'bob/message:send' })
})

t.test('two services in one app have separate tenants', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(
    async (scope) => scope.register(a2a, { prefix: '/in', basePath: '/a', agents: [named('ada')] }),
    {
      prefix: '/deep'
    }
  )
  await app.register(a2a, { basePath: '/b', agents: [named('bob')] })
  await app.register(a2a, { agents: [named('eve')] })
  const statusOf = async (url: string) => (await app.inject(url)).statusCode
  for (const url of ['/deep/in/a/ada/tasks', '/b/bob/tasks', '/eve/tasks'])
    t.equal(await statusOf(url), 200, url)
  for (const url of ['/deep/in/a/bob/tasks', '/b/ada/tasks', '/b/eve/tasks', '/ada/tasks'])
    t.equal(await statusOf(url), 404, url)
  const { supportedInterfaces } = (await app.inject('/deep/in/a/ada/.well-known/agent-card.json')).json<{
    supportedInterfaces: object[]
  }>()
  t.match(supportedInterfaces[0], { url: /\/deep\/in\/a$/, tenant: 'ada' })
})

t.test('a registry that throws fails requests, not the process', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const { get, ...registry } = createRegistry()
  const failing = { ...registry, get: (...asked: Parameters<typeof get>) => get(...asked) ?? fail() }
  await app.register(a2a, { registry: failing })
  t.equal((await app.inject('/nobody/tasks')).statusCode, 404)
})

function fail(): never {
  throw new Error('no such runnable')
}
