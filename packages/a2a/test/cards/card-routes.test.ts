import a2a, { type A2aOptions } from '@svc/a2a'
import registryPlugin, { createRegistry, type Authenticate } from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'
import { anyone, buildApp, echo } from '../helpers/build-app.ts'
import { faultsOf } from '../helpers/published/faults-of.ts'

const CARD = '/.well-known/agent-card.json'
const schemes = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
  key: { type: 'apiKey', in: 'header', name: 'x-key' }
}
const authenticate = Object.assign(() => ({ sub: 'me', scopes: [] }), { schemes })

t.test('one card for all versions, and that of 1.0 on request', async (t) => {
  const { origin, url } = await buildApp(t, { options: { authenticate } })
  const get = async (path: string, headers = {}) =>
    (await (await fetch(origin + path, { headers })).json()) as Record<string, unknown>
  const hybrid = await get(CARD)
  t.same(await get('/.well-known/agent.json'), hybrid)
  t.same(await get(`/a2a${CARD}`), hybrid)
  t.match(hybrid, {
    url,
    protocolVersion: '0.3.0',
    capabilities: { stateTransitionHistory: true, extendedAgentCard: false },
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { protocolVersion: '0.3' },
      { protocolVersion: '0.3' }
    ],
    securitySchemes: { bearer: { type: 'http', httpAuthSecurityScheme: { scheme: 'bearer' } } },
    security: [{ bearer: [] }, { key: [] }],
    securityRequirements: [{ schemes: { bearer: { list: [] } } }, { schemes: { key: { list: [] } } }]
  })
  for (const version of ['1.0', '1.0.1']) {
    const pure = await get(CARD, { 'a2a-version': version })
    t.same(faultsOf('1.0', 'AgentCard', pure), [])
    t.match(pure, {
      securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } } }
    })
  }
  t.same(await get(`${CARD}?A2A-Version=1.0`), await get(CARD, { 'a2a-version': '1.0' }))
  t.match(await get(CARD, { 'a2a-version': '2.0' }), { code: -32009 })
})

t.test('the card of a single version', async (t) => {
  for (const version of ['1.0', '0.3'] as const) {
    const { origin } = await buildApp(t, { options: { versions: [version], authenticate } })
    t.same(faultsOf(version, 'AgentCard', await (await fetch(origin + CARD)).json()), [], version)
  }
})

t.test('cache headers', async (t) => {
  const { origin } = await buildApp(t)
  const first = await fetch(origin + CARD)
  const etag = first.headers.get('etag')!
  t.match(first.headers.get('cache-control'), /max-age=\d+/)
  t.equal(first.headers.get('vary'), 'A2A-Version')
  for (const given of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
    const again = await fetch(origin + CARD, { headers: { 'if-none-match': given } })
    t.same([again.status, await again.text()], [304, ''])
  }
  t.equal((await fetch(origin + CARD, { headers: { 'if-none-match': '"x"' } })).status, 200)
})

t.test('the well-known paths are at the root, whatever the prefix', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const registry = createRegistry()
  registry.add(echo)
  await app.register(registryPlugin, { registry })
  await app.register(
    async (scope) => {
      await scope.register(a2a, { prefix: '/in', basePath: '/a2a' })
    },
    { prefix: '/deep' }
  )
  await app.register(a2a, { basePath: '/second', agents: [{ ...echo, name: 'other' }] })
  const card = (await app.inject(CARD)).json<{ url: string }>()
  t.match(card.url, /\/deep\/in\/a2a$/)
  t.match((await app.inject(`/second${CARD}`)).json(), { url: /\/second$/, skills: [{ id: 'other' }] })
  const payload = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'x' } }
  for (const path of ['/deep/in/a2a', '/second']) {
    const reply = await app.inject({ method: 'POST', url: path, payload })
    t.match(reply.json(), { error: { code: -32001 } })
  }
})

t.test('clients of 0.2 find the extended card beside the endpoint', async (t) => {
  const byToken: Authenticate = ({ token }) => (token === undefined ? null : { sub: token, scopes: [] })
  const extendedCard: A2aOptions['extendedCard'] = (card, { sub }) => ({ ...card, description: `for ${sub}` })
  for (const basePath of ['/a2a', '/deep/in', '/']) {
    const { app, origin } = await buildApp(t, { options: { basePath, authenticate: byToken, extendedCard } })
    const { url } = (await (await fetch(origin + CARD)).json()) as { url: string }
    const path = `${url}/../agent/authenticatedExtendedCard`
    t.equal((await fetch(path)).status, 401, basePath)
    const response = await fetch(path, { headers: { authorization: 'Bearer ada' } })
    t.match(await response.json(), { description: 'for ada', protocolVersion: '0.3.0', url })
    t.equal(app.hasRoute({ method: 'HEAD', url: new URL(path).pathname }), false)
  }
  const without = await buildApp(t, { options: { authenticate: byToken } })
  t.equal((await fetch(`${without.origin}/agent/authenticatedExtendedCard`)).status, 404)
})

t.test('of two services, the first has the path of 0.2', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  for (const name of ['first', 'second'])
    await app.register(a2a, {
      basePath: `/${name}`,
      agents: [echo],
      authenticate: anyone,
      extendedCard: (card) => ({ ...card, name })
    })
  t.match((await app.inject('/agent/authenticatedExtendedCard')).json(), { name: 'first' })
})

t.test('behind a proxy, and at the root path', async (t) => {
  const behind = await buildApp(t, { options: { url: 'https://agents.example.org/x' } })
  t.match(await (await fetch(behind.origin + CARD)).json(), { url: 'https://agents.example.org/x' })
  const { origin } = await buildApp(t, { options: { basePath: '/' } })
  const card = (await (await fetch(origin + CARD)).json()) as { url: string; additionalInterfaces: object[] }
  t.equal(card.url, `${origin}/`)
  t.same(card.additionalInterfaces[1], { url: origin, transport: 'HTTP+JSON' })
  t.match(await (await fetch(`${origin}/tasks`)).json(), { tasks: [] })
})

t.test('Last-Modified is when the content last changed, whoever asks', async (t) => {
  const { app } = await buildApp(t)
  const get = async (url = CARD, headers = {}) => app.inject({ url, headers })
  const modified = async (url?: string, headers?: object) =>
    String((await get(url, headers)).headers['last-modified'])
  const first = await modified()
  t.equal(new Date(first).toUTCString(), first)
  t.equal(await modified(`/a2a${CARD}`), first)
  t.equal(await modified(CARD, { host: 'other.example', 'a2a-version': '1.0' }), first)
  t.equal((await app.inject({ method: 'HEAD', url: CARD })).headers['last-modified'], first)
  const agents = ['/a2a/echo', '/a2a/agents/echo'].map((path) => path + CARD)
  for (const path of agents) t.equal(await modified(path), await modified(path))

  const later = new Date(Date.parse(first) + 3_600_000).toUTCString()
  for (const since of [first, later]) {
    t.equal((await get(CARD, { 'if-modified-since': since })).statusCode, 304, since)
    t.equal((await get(CARD, { 'if-modified-since': since, 'if-none-match': '"x"' })).statusCode, 200)
  }
  const earlier = new Date(Date.parse(first) - 1_000).toUTCString()
  for (const since of [earlier, 'yesterday', ''])
    t.equal((await get(CARD, { 'if-modified-since': since })).statusCode, 200, since)

  const before = await Promise.all(agents.map((path) => modified(path)))
  app.registry.add({ ...echo, name: 'later' })
  t.equal((await get(CARD, { 'if-modified-since': first })).statusCode, 200)
  t.not(await modified(), first)
  t.same(await Promise.all(agents.map((path) => modified(path))), before, 'others have not changed')
})
