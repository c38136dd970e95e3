import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { buildApp } from '../src/app.ts'
import { readEnv } from '../src/env.ts'
import { createOfflineModel } from '../src/models/offline/offline-model.ts'

async function makeApp(
  t: { teardown(what: () => unknown): unknown; testdir(): string },
  { delay = 0, ...env }: { delay?: number; HOST?: string; PORT?: string } = {}
): Promise<FastifyInstance> {
  const app = await buildApp(
    readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent', ...env }),
    createOfflineModel({ delay })
  )
  t.teardown(() => app.close())
  return app
}

const ask = (app: FastifyInstance, input: string) =>
  app.inject({ method: 'POST', url: '/api/agents/assistant/run', payload: { input } })

t.test('GET / is the console', async (t) => {
  const app = await makeApp(t)
  const page = await app.inject('/')
  t.match(page.headers['content-type'], /^text\/html/)
  t.match(page.body, /<script type="module" src="assets\//)
  const { surfaces } = (await app.inject('/config.json')).json<{ surfaces: Record<string, string> }>()
  t.match(surfaces, { http: './api', a2a: './a2a', responses: './v1' })
})

t.test('GET /api says what there is', async (t) => {
  const app = await makeApp(t)
  const response = await app.inject({ url: '/api', headers: { host: 'example.org:8080' } })
  t.equal(response.statusCode, 200)
  const { links, try: commands } = response.json<{ links: Record<string, string>; try: string[] }>()
  t.match(links, { agents: 'http://example.org:8080/api/agents' })
  for (const link of Object.values(links))
    t.equal((await app.inject(new URL(link).pathname)).statusCode, 200, link)
  t.equal(commands.filter((command) => command.startsWith('curl ')).length, 3)
})

t.test('GET /api/registry lists every wire, and each of their documents exists', async (t) => {
  const app = await makeApp(t)
  const { wires } = (await app.inject('/api/registry')).json<{
    wires: { name: string; path: string; document?: string }[]
  }>()
  t.strictSame(
    wires.map(({ name, path }) => `${name} ${path}`),
    [
      'http /api',
      'ui-stream /api/chat',
      'mcp /api/mcp',
      'ag-ui /api/ag-ui',
      'socket.io /socket.io',
      'a2a /a2a',
      'openai /v1',
      'openai-agents /v1/agents',
      'managed-agents /managed/v1',
      'realtime /v1/realtime'
    ]
  )
  for (const { name, document } of wires)
    if (name !== 'realtime') t.equal((await app.inject(document!)).statusCode, 200, name)
})

t.test('errors outside of the API have the shape of all others', async (t) => {
  const app = await makeApp(t)
  const missing = await app.inject({ url: '/nothing', headers: { 'x-request-id': 'x' } })
  t.equal(missing.statusCode, 404)
  t.match(missing.json(), {
    statusCode: 404,
    code: 'HTTP_ERR_ROUTE_NOT_FOUND',
    error: 'Not Found',
    requestId: /./
  })
  const refused = await app.inject({
    method: 'POST',
    url: '/',
    payload: '{',
    headers: { 'content-type': 'text/x' }
  })
  t.match(refused.json(), { code: /^HTTP_ERR_/, requestId: /./ })
})

t.test('quoted commands call the service where it is', async (t) => {
  const app = await makeApp(t, { HOST: '0.0.0.0', PORT: '4711' })
  const { text } = (await ask(app, 'How do I cancel a run?')).json<{ text: string }>()
  t.match(text, 'http://localhost:4711/api/runs/$RUN_ID/cancel')
})

t.test('more runs than it can serve well are told to come again', async (t) => {
  const app = await makeApp(t, { delay: 50 })
  const asked = Array.from({ length: 250 }, () => ask(app, 'Hello'))
  const live = await app.inject('/api/livez')
  t.equal(live.statusCode, 200)
  const statuses = (await Promise.all(asked)).map(({ statusCode }) => statusCode)
  t.equal(statuses.filter((status) => status === 200).length, 200)
  t.equal(statuses.filter((status) => status === 503).length, 50)
})

t.test('a client that would like HTTP/2 is answered', async (t) => {
  const app = await makeApp(t)
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = {
    connection: 'Upgrade, HTTP2-Settings',
    upgrade: 'h2c',
    'http2-settings': 'AAMAAABkAAQAAP__'
  }
  const asking = request(`${origin}/api/livez`, { headers }).end()
  const [response] = (await once(asking, 'response')) as [IncomingMessage]
  t.equal(response.statusCode, 200)
  response.resume()
})
