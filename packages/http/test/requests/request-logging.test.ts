import { setTimeout as pause } from 'node:timers/promises'
import http, { requestLogging, type HttpOptions } from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import Fastify, { LogController } from 'fastify'
import t, { type Test } from 'tap'
import { claims, createTokenMaker } from '../auth/token-maker.ts'
import { echo } from '../helpers/build-app.ts'

interface Line {
  level: number
  msg: string
  method?: string
  route?: string | null
  statusCode?: number
  durationMs?: number
  runId?: string
  principal?: string
}

/** An app that logs each request by this plugin alone. */
async function build(t: Test, options: HttpOptions = {}) {
  const lines: Line[] = []
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Line) }
  const logController = new LogController({ disableRequestLogging: true })
  const app = Fastify({ logger: { level: 'trace', stream }, logController, forceCloseConnections: true })
  const agents = createRegistry()
  agents.add(echo)
  agents.add(scriptedRunnable([{ type: 'text', text: 'x' }, 60_000], { name: 'endless' }))
  await app.register(requestLogging)
  await app.register(registry, { registry: agents, drainTimeout: 50 })
  await app.register(http, { prefix: '/api', ...options })
  app.get('/host/:id', () => 'x')
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const about = async (count: number) => {
    const found = () =>
      lines.filter(({ msg }) => msg.startsWith('request completed') || msg === 'request aborted')
    for (let i = 0; i < 100 && found().length < count; i++) await pause(10)
    return found()
  }
  return { app, origin, lines, about }
}

const secret = 'very-secret'

t.test('one line per request: route, status, duration, run, principal; no client data', async (t) => {
  const maker = createTokenMaker('HS256')
  const { origin, lines, about } = await build(t, { jwt: { secret: maker.secret } })
  const token = maker.sign(claims())
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', cookie: secret }
  const body = JSON.stringify({ input: secret, apiKey: secret })
  const run = await fetch(`${origin}/api/agents/echo/run`, { method: 'POST', headers, body })
  await run.text()
  await (await fetch(`${origin}/api/agents/echo?q=${secret}`, { headers })).text()
  await (await fetch(`${origin}/api/agents?q=${secret}`)).text()
  await (await fetch(`${origin}/${secret}`)).text()
  await (await fetch(`${origin}/host/1?q=${secret}`)).text()
  const found = await about(5)
  t.match(found, [
    {
      level: 30,
      method: 'POST',
      route: '/api/agents/:name/run',
      statusCode: 200,
      runId: run.headers.get('x-run-id'),
      principal: 'ann'
    },
    { method: 'GET', route: '/api/agents/:name', statusCode: 400, principal: 'ann' },
    { method: 'GET', route: '/api/agents', statusCode: 401, principal: 'anonymous' },
    { method: 'GET', route: null, statusCode: 404 },
    { method: 'GET', route: '/host/:id', statusCode: 200 }
  ])
  t.equal(found.length, 5)
  for (const { durationMs } of found) t.ok(Number(durationMs) > 0)
  t.notOk(found[4] && 'principal' in found[4])
  t.notMatch(JSON.stringify(lines), secret)
  t.notMatch(JSON.stringify(lines), token)
})

t.test('a client that disconnects', async (t) => {
  const { origin, about } = await build(t)
  const client = new AbortController()
  const response = await fetch(`${origin}/api/agents/endless/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"input":"x"}',
    signal: client.signal
  })
  client.abort()
  t.match(await about(1), [
    { msg: 'request aborted', route: '/api/agents/:name/stream', runId: response.headers.get('x-run-id') }
  ])
})

t.test('an injected request completes', async (t) => {
  const { app, about } = await build(t)
  await app.inject({ method: 'POST', url: '/api/agents/echo/run', payload: { input: 'x' } })
  t.match(await about(1), [{ msg: 'request completed', statusCode: 200 }])
})
