import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import http, { type HttpOptions } from '@svc/http'
import { createRegistry } from '@svc/registry'
import Fastify from 'fastify'
import { launchChromium, needsChromium } from '@tools/wires/chromium'
import t from 'tap'
import { echo } from '../helpers/build-app.ts'
import { buildSecuredApp } from '../helpers/secured-app.ts'

const origin = 'https://app.example'
const allowed = (response: Response) => response.headers.get('access-control-allow-origin')

t.test('a preflight needs no token', async (t) => {
  const { ask } = await buildSecuredApp(t, { options: { cors: true } })
  for (const path of ['/agents/echo/run', '/runs/x/cancel', '/admin/runs']) {
    const response = await ask('OPTIONS', path, {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,idempotency-key'
    })
    t.equal(response.status, 204, path)
    t.equal(allowed(response), '*')
    t.equal(
      response.headers.get('access-control-allow-headers'),
      'authorization,content-type,idempotency-key'
    )
    t.match(response.headers.get('access-control-allow-methods'), /\bDELETE\b/)
    t.equal(response.headers.get('access-control-allow-credentials'), null)
  }
})

t.test('replies, errors and streams have the headers', async (t) => {
  const { ask, as } = await buildSecuredApp(t, {
    runnables: [echo],
    options: { cors: true, rateLimit: { max: 7 } }
  })
  const ann = { ...as('ann', 'agents:run'), origin }
  const responses: [number, Response][] = [
    [200, await ask('POST', '/agents/echo/run', ann, { input: 'x' })],
    [200, await ask('POST', '/agents/echo/stream', ann, { input: 'x' })],
    [400, await ask('POST', '/agents/echo/run', ann, {})],
    [401, await ask('GET', '/agents', { origin })],
    [403, await ask('GET', '/agents', ann)],
    [404, await ask('GET', '/runs/none', ann)],
    [404, await ask('GET', '/none', ann)],
    [405, await ask('PUT', '/agents', ann)],
    [400, await ask('GET', '/runs?x=1', ann)]
  ]
  for (let i = 0; i < 5; i++) await ask('GET', '/runs', ann)
  responses.push([429, await ask('GET', '/runs', ann)])
  for (const [status, response] of responses) {
    t.equal(response.status, status)
    t.equal(allowed(response), '*', `${status}`)
    t.match(response.headers.get('access-control-expose-headers'), /x-run-id.*retry-after/)
    await response.text()
  }
})

t.test('only named origins', async (t) => {
  const cors = { origin: [origin, /\.our\.example$/], credentials: true }
  const { ask } = await buildSecuredApp(t, { options: { cors } })
  for (const good of [origin, 'https://a.our.example']) {
    const response = await ask('GET', '/livez', { origin: good })
    t.equal(allowed(response), good)
    t.equal(response.headers.get('access-control-allow-credentials'), 'true')
    t.match(response.headers.get('vary'), /Origin/i)
  }
  for (const bad of [
    'https://evil.example',
    'null',
    'https://app.example.evil.example',
    'http://app.example'
  ])
    t.equal(allowed(await ask('GET', '/livez', { origin: bad })), null, bad)
})

t.test('without the option there are no headers', async (t) => {
  const { ask } = await buildSecuredApp(t)
  t.equal(allowed(await ask('GET', '/livez', { origin })), null)
  const preflight = { origin, 'access-control-request-method': 'POST' }
  t.equal(allowed(await ask('OPTIONS', '/agents/echo/run', preflight)), null)
})

t.test('every origin with credentials is an error at start', async (t) => {
  const credentials = true
  const reflects = (value: unknown) => ({ credentials, origin: value })
  const bad: unknown[] = [
    { credentials },
    reflects(true),
    reflects('*'),
    reflects(undefined),
    reflects(/.*/),
    reflects(/^https?:\/\//),
    reflects(['*']),
    reflects([origin, true]),
    reflects([origin, [/./]]),
    reflects(/.*/g),
    reflects((_origin: string, done: (err: null, allow: boolean) => void) => done(null, true)),
    reflects(async () => true),
    reflects(async () => '*'),
    {
      delegator: (_request: unknown, done: (err: null, options: object) => void) => done(null, reflects(true))
    },
    { delegator: async () => ({ credentials, origin: '*' }) }
  ]
  for (const [index, cors] of bad.entries()) {
    const app = Fastify()
    t.teardown(() => app.close())
    const options = { registry: createRegistry(), cors } as HttpOptions
    await t.rejects(
      (async () => app.register(http, options))(),
      { code: 'HTTP_ERR_BAD_OPTION', message: /cors/ },
      `spelling ${index}`
    )
  }
  const good: unknown[] = [
    true,
    { origin: '*' },
    { credentials: false, origin: true },
    reflects(origin),
    reflects(false),
    reflects([origin]),
    reflects(/^https:\/\/[a-z]+\.example$/),
    reflects((from: string, done: (err: null, allow: boolean) => void) => done(null, from === origin))
  ]
  for (const [index, cors] of good.entries()) {
    const app = Fastify()
    t.teardown(() => app.close())
    await t.resolves(
      (async () => app.register(http, { registry: createRegistry(), cors } as HttpOptions))(),
      `good ${index}`
    )
  }
})

t.test('in a browser: a page of another origin reads a stream by fetch', needsChromium, async (t) => {
  const { url, as } = await buildSecuredApp(t, { runnables: [echo], options: { cors: true } })
  const server = createServer((_request, response) => response.end('<!doctype html><title>x</title>')).listen(
    0
  )
  await once(server, 'listening')
  t.teardown(() => server.close())
  const browser = await launchChromium()
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`)
  const read = (headers: Record<string, string>) =>
    page.evaluate(
      async ([address, sent]) => {
        const response = await fetch(`${address}/agents/echo/stream`, {
          method: 'POST',
          headers: { ...sent, 'content-type': 'application/json' },
          body: '{"input":"Hello"}'
        })
        return {
          status: response.status,
          runId: response.headers.get('x-run-id'),
          text: await response.text()
        }
      },
      [url, headers] as const
    )
  const { status, runId, text } = await read(as('ann', 'agents:run'))
  t.equal(status, 200)
  t.match(text, /^data: .*"type":"start"[^]*Hello[^]*"finish"/)
  t.ok(runId && text.includes(runId), 'the page may read the header')
  t.match(await read({}), { status: 401, text: /HTTP_ERR_NO_TOKEN/ }, 'and errors')
})
