import { connect } from 'node:net'
import { clientErrorHandler, type ErrorBody } from '@svc/http'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { readAll, sendRaw } from '../helpers/event-stream.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp } from '../helpers/secured-app.ts'

const endless = scriptedRunnable([{ type: 'text', text: 'x' }, 60_000], { name: 'endless' })
const json = { 'content-type': 'application/json' }

t.test('routes without a body accept an empty one', async (t) => {
  const app = await buildApp(t, { runnables: [echo, endless] })
  const { runId } = await app.runs.start(endless, 'x')
  t.equal((await app.post(`/runs/${runId}/cancel`, '', json)).status, 200)
  await requireError(t, await app.post(`/runs/${runId}/cancel`, '{}', json), 409, 'RUN_ERR_TERMINAL')
  await requireError(t, await app.post('/agents/echo/run', '', json), 400, 'HTTP_ERR_BAD_JSON')
  await requireError(t, await app.post('/approvals/x', '', json), 400, 'HTTP_ERR_BAD_JSON')
})

t.test('an unknown query parameter is named', async (t) => {
  const app = await buildSecuredApp(t, { runnables: [echo] })
  const caller = app.as('ann', '*')
  const routes: [method: string, path: string, body?: object][] = [
    ['GET', '/runs'],
    ['GET', '/runs/x'],
    ['GET', '/runs/x/stream'],
    ['POST', '/runs/x/cancel'],
    ['GET', '/agents'],
    ['GET', '/agents/echo'],
    ['GET', '/registry'],
    ['GET', '/approvals'],
    ['GET', '/inputs'],
    ['GET', '/sessions'],
    ['GET', '/schedules'],
    ['GET', '/webhooks'],
    ['GET', '/admin/health'],
    ['GET', '/admin/runs'],
    ['DELETE', '/admin/runs'],
    ['DELETE', '/admin/agents/echo'],
    ['POST', '/agents/echo/run', { input: 'x' }]
  ]
  for (const [method, path, body] of routes) {
    const response = await app.ask(method, `${path}?limits=5`, caller, body)
    const { errors } = await requireError(t, response, 400, 'HTTP_ERR_VALIDATION', `${method} ${path}`)
    t.match(errors, [{ path: 'query/limits', message: 'is not known' }])
  }
  t.equal((await app.ask('GET', '/livez?x=1')).status, 200, 'whoever looks after the process may')
})

t.test('numbers in a query must be canonical decimals', async (t) => {
  const { get } = await buildApp(t, { runnables: [echo] })
  for (const limit of ['0x10', '1e2', '1e0', '010', '+1', ' 1', '1 ', '1.0', '1n', '１', '%31%00', '']) {
    const response = await get(`/runs?limit=${limit.replace('+', '%2b').replaceAll(' ', '%20')}`)
    const { errors } = await requireError(t, response, 400, 'HTTP_ERR_VALIDATION', limit)
    t.match(errors, [{ path: 'query/limit' }])
  }
  t.equal((await get('/runs?limit=10')).status, 200)
  await requireError(t, await get('/runs?limit=1&limit=2'), 400, 'HTTP_ERR_VALIDATION')
})

t.test('a method that a path does not support', async (t) => {
  const app = await buildSecuredApp(t, { runnables: [echo] })
  const cases: [method: string, path: string, allow: string][] = [
    ['PUT', '/agents', 'GET, HEAD'],
    ['DELETE', '/agents/echo', 'GET, HEAD'],
    ['GET', '/agents/echo/run', 'POST'],
    ['PATCH', '/agents/unknown/run', 'POST'],
    ['GET', '/%61gents/echo/run?x=1', 'POST'],
    ['PUT', '/admin/runs', 'DELETE, GET, HEAD'],
    ['OPTIONS', '/runs', 'GET, HEAD'],
    ['POST', '/livez', 'GET, HEAD']
  ]
  for (const [method, path, allow] of cases) {
    const response = await app.ask(method, path)
    t.equal(response.headers.get('allow'), allow, `${method} ${path}`)
    await requireError(t, response, 405, 'HTTP_ERR_METHOD_NOT_ALLOWED')
  }
  for (const path of ['/', '', '/agentsx', '/agents/a/b/run', '/agents//run', '/AGENTS', '/runs/']) {
    const response = await app.ask('PUT', path)
    t.equal(response.headers.get('allow'), null)
    await requireError(t, response, 404, 'HTTP_ERR_ROUTE_NOT_FOUND', path)
  }
  const { ask } = await buildSecuredApp(t, { options: { cors: true } })
  await requireError(
    t,
    await ask('GET', '/none'),
    404,
    'HTTP_ERR_ROUTE_NOT_FOUND',
    'a preflight route is no path'
  )
  const hidden = await buildSecuredApp(t, { options: { admin: false } })
  await requireError(t, await hidden.ask('PUT', '/admin/runs'), 404, 'HTTP_ERR_ROUTE_NOT_FOUND')
})

t.test('encodings and charsets of a body', async (t) => {
  const app = await buildApp(t, { runnables: [echo] })
  const body = '{"input":"a"}'
  for (const encoding of ['gzip', 'br', 'deflate', 'x', 'gzip, identity', 'GZIP']) {
    const response = await app.post('/agents/echo/run', body, { ...json, 'content-encoding': encoding })
    t.equal(response.headers.get('accept-encoding'), 'identity')
    await requireError(t, response, 415, 'HTTP_ERR_UNSUPPORTED_ENCODING', encoding)
  }
  for (const charset of ['latin1', 'utf-16', '"iso-8859-1"', 'us-ascii', 'utf-7', '']) {
    const headers = { 'content-type': `application/json; charset=${charset}` }
    const response = await app.post('/agents/echo/run', body, headers)
    await requireError(t, response, 415, 'HTTP_ERR_UNSUPPORTED_ENCODING', charset)
  }
  const good = [{ 'content-encoding': 'identity' }, { 'content-type': 'application/json; CHARSET="UTF-8"' }]
  for (const headers of good)
    t.equal((await app.post('/agents/echo/run', body, { ...json, ...headers })).status, 200)
  t.equal((await app.get('/agents', { 'content-type': 'text/plain; charset=x' })).status, 200)
})

t.test('the client’s Accept selects the shape of an error', async (t) => {
  const { get } = await buildApp(t)
  const problem = 'application/problem+json'
  const cases: [accept: string, isProblem: boolean][] = [
    [problem, true],
    ['APPLICATION/PROBLEM+JSON', true],
    [`text/html, ${problem};q=0.5`, true],
    [`application/json, ${problem} ; q=0.001`, true],
    [`${problem};q=0`, false],
    [`${problem}; q=0.000, */*`, false],
    [`${problem}; Q=0.0`, false],
    [`x${problem}`, false],
    [`${problem}x`, false],
    ['*/*', false],
    ['application/json', false]
  ]
  for (const [accept, isProblem] of cases) {
    const response = await get('/none', { accept })
    t.equal(response.headers.get('content-type')?.startsWith(problem), isProblem, accept)
    const body = (await response.json()) as object
    t.match(body, isProblem ? { status: 404, title: 'Not Found' } : { statusCode: 404, error: 'Not Found' })
  }
})

t.test('all faults are listed, within bounds', async (t) => {
  const { post } = await buildApp(t, { runnables: [echo] })
  const errorsOf = async (body: object) =>
    (await requireError(t, await post('/agents/echo/run', body), 400, 'HTTP_ERR_VALIDATION')).errors ?? []
  const several = await errorsOf({ sessionId: 5, userId: '', more: 1, onDisconnect: 'x' })
  t.strictSame(several.map(({ path }) => path).toSorted(), [
    'body/more',
    'body/onDisconnect',
    'body/sessionId',
    'body/userId'
  ])
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]))
  t.equal((await errorsOf({ input: 'x', ...keys(50) })).length, 20)
  t.equal((await errorsOf({ input: 'x', ...keys(50_000) })).length, 1)
  const [long] = await errorsOf({ input: 'x', ['k'.repeat(50_000)]: 1 })
  t.equal(long?.path, `body/${'k'.repeat(100)}…`)
})

t.test('faults name the part and the field of an input', async (t) => {
  const { post } = await buildApp(t, { runnables: [echo] })
  const image = { type: 'image', mimeType: 'image/png' }
  const errorsOf = async (input: unknown) =>
    (await requireError(t, await post('/agents/echo/run', { input }), 400, 'RUN_ERR_BAD_INPUT')).errors
  t.match(await errorsOf([{ ...image, data: '*' }]), [{ path: 'input/0/data', message: 'must be base64' }])
  t.match(
    await errorsOf([
      { type: 'text', text: 'a' },
      { ...image, mimeType: 'png', data: 'AAAA' }
    ]),
    [{ path: 'input/1/mimeType', message: /media type/ }]
  )
  t.match(await errorsOf(' \n '), [{ path: 'input' }])
})

t.test('temporary refusals have Retry-After and are not logged as failures', async (t) => {
  const lines: { level: number; code?: string; err?: unknown; msg: string }[] = []
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const app = await buildApp(t, {
    runnables: [echo, endless],
    engine: { limits: { maxRuns: 1 } },
    fastify: { logger: { level: 'info', stream } }
  })
  const run = await app.runs.start(endless, 'x')
  const full = await app.post('/agents/echo/run', { input: 'x' })
  t.equal(full.headers.get('retry-after'), '5')
  await requireError(t, full, 503, 'RUN_ERR_OVERLOADED')
  await run.cancel()
  await app.post('/agents/echo/run', { input: ' ' })
  void app.runs.close()
  const closing = await app.post('/agents/echo/run', { input: 'x' })
  t.equal(closing.headers.get('retry-after'), '5')
  await requireError(t, closing, 503, 'RUN_ERR_DRAINING')
  t.equal((await app.get('/readyz')).headers.get('retry-after'), '5')
  const levels = new Map(lines.filter(({ code }) => code).map(({ code, level }) => [code, level]))
  t.strictSame(
    [...levels],
    [
      ['RUN_ERR_OVERLOADED', 40],
      ['RUN_ERR_BAD_INPUT', 30],
      ['RUN_ERR_DRAINING', 40]
    ]
  )
  t.notOk(
    lines.find(({ err }) => err !== undefined),
    'without a stack'
  )
})

t.test('errors of Node.js itself have the same shape', async (t) => {
  const lines: string[] = []
  const app = await buildApp(t, {
    runnables: [echo],
    fastify: {
      clientErrorHandler,
      requestTimeout: 100,
      http: { connectionsCheckingInterval: 20 },
      logger: { stream: { write: (line: string) => void lines.push(line) } }
    } as object
  })
  const host = 'Host: localhost\r\n'
  const requests: [says: string, request: string, statusCode: number, code: string][] = [
    ['no HTTP', 'hello\r\n\r\n', 400, 'HTTP_ERR_BAD_REQUEST'],
    ['a bad request line', `GET  HTTP\r\n${host}\r\n`, 400, 'HTTP_ERR_BAD_REQUEST'],
    ['a bad header', `GET /api/livez HTTP/1.1\r\n${host}a b: c\r\n\r\n`, 400, 'HTTP_ERR_BAD_REQUEST'],
    [
      'two lengths',
      `POST /api/x HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`,
      400,
      'HTTP_ERR_BAD_REQUEST'
    ],
    [
      'large headers',
      `GET /api/livez HTTP/1.1\r\n${host}a: ${'x'.repeat(50_000)}\r\n\r\n`,
      431,
      'HTTP_ERR_HEADERS_TOO_LARGE'
    ],
    ['a slow request', `GET /api/livez HTTP/1.1\r\n${host}`, 408, 'HTTP_ERR_REQUEST_TIMEOUT']
  ]
  for (const [says, request, statusCode, code] of requests) {
    const answer = await readAll(await sendRaw(app.origin, request))
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${statusCode} .*\\r\\ncontent-type: application/json`), says)
    const body = JSON.parse(answer.slice(answer.indexOf('{'))) as ErrorBody
    t.match(body, { statusCode, code, error: String, message: String, requestId: /./ }, says)
    t.ok(
      lines.some((line) => line.includes(body.requestId)),
      'the log has it'
    )
  }
  const { port } = new URL(app.origin)
  connect(Number(port), '127.0.0.1').resetAndDestroy()
  t.equal((await app.get('/livez')).status, 200)
})

t.test('garbage after a request does not corrupt its reply', async (t) => {
  const app = await buildApp(t, { runnables: [endless], fastify: { clientErrorHandler } as object })
  const body = '{"input":"x"}'
  const head = `POST /api/agents/endless/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
  const socket = await sendRaw(app.origin, `${head}Content-Length: ${body.length}\r\n\r\n${body}`)
  let answer = ''
  for await (const chunk of socket) {
    answer += String(chunk)
    if (answer.includes('"type":"text"')) socket.write('garbage\r\n\r\n')
  }
  t.match(answer, /^HTTP\/1\.1 200 /)
  t.notMatch(answer, /HTTP_ERR_BAD_REQUEST/)
})
