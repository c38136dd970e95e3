import type { ErrorBody } from '@svc/http'
import t from 'tap'
import { buildApp, echo, type TestApp } from '../helpers/build-app.ts'
import { readAll, sendRaw } from '../helpers/event-stream.ts'
import { requireError } from '../helpers/require-error.ts'

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const bytes = (...codes: number[]) =>
  new Uint8Array([...Buffer.from('{"input":"'), ...codes, ...Buffer.from('"}')])

/** What is sent as a body, and with which status and code it is refused. */
const bodies: [says: string, body: unknown, statusCode: number, code: string][] = [
  ['bad JSON', '{"input":', 400, 'HTTP_ERR_BAD_JSON'],
  ['no JSON', 'hello', 400, 'HTTP_ERR_BAD_JSON'],
  ['an empty body', '', 400, 'HTTP_ERR_BAD_JSON'],
  ['two values', '{"input":"a"}{"input":"b"}', 400, 'HTTP_ERR_BAD_JSON'],
  ['two byte order marks', '\ufeff\ufeff{"input":"a"}', 400, 'HTTP_ERR_BAD_JSON'],
  ['a byte order mark alone', '\ufeff', 400, 'HTTP_ERR_BAD_JSON'],
  ['an overlong encoding', bytes(0xc0, 0xaf), 400, 'HTTP_ERR_BAD_JSON'],
  ['a cut-off character', bytes(0xe2, 0x82), 400, 'HTTP_ERR_BAD_JSON'],
  ['an encoded surrogate', bytes(0xed, 0xa0, 0x80), 400, 'HTTP_ERR_BAD_JSON'],
  ['Latin-1', bytes(0xe9), 400, 'HTTP_ERR_BAD_JSON'],
  ['UTF-16', Uint8Array.from(Buffer.from('{"input":"a"}', 'utf16le')), 400, 'HTTP_ERR_BAD_JSON'],
  ['__proto__', '{"input":"a","__proto__":{"x":1}}', 400, 'HTTP_ERR_BAD_JSON'],
  ['__proto__, escaped', '{"input":"a","\\u005f_proto__":{"x":1}}', 400, 'HTTP_ERR_BAD_JSON'],
  ['__proto__, deep', '{"input":[{"type":{"__proto__":null}}]}', 400, 'HTTP_ERR_BAD_JSON'],
  ['constructor.prototype', '{"input":"a","constructor":{"prototype":{}}}', 400, 'HTTP_ERR_BAD_JSON'],
  ['lists nested 10,000 deep', `{"input":${nested(10_000)}}`, 400, 'HTTP_ERR_BAD_JSON'],
  ['objects nested 10,000 deep', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, 400, 'HTTP_ERR_BAD_JSON'],
  ['65 levels', `{"input":${nested(64)}}`, 400, 'HTTP_ERR_BAD_JSON'],
  ['a lone surrogate in the input', '{"input":"\\ud83d"}', 400, 'HTTP_ERR_BAD_JSON'],
  ['a lone surrogate in an id', '{"input":"a","sessionId":"\\udc00x"}', 400, 'HTTP_ERR_BAD_JSON'],
  ['a lone surrogate in a key', '{"input":"a","\\ud800":1}', 400, 'HTTP_ERR_BAD_JSON'],
  ['5 MB', { input: 'x'.repeat(5_000_000) }, 413, 'HTTP_ERR_BODY_TOO_LARGE'],
  ['null', 'null', 400, 'HTTP_ERR_VALIDATION'],
  ['a list', [], 400, 'HTTP_ERR_VALIDATION'],
  ['a string', '"hello"', 400, 'HTTP_ERR_VALIDATION'],
  ['no input', {}, 400, 'RUN_ERR_BAD_INPUT'],
  ['an unknown property', { input: 'a', inputs: 'b' }, 400, 'HTTP_ERR_VALIDATION'],
  ['a session that is a number', { input: 'a', sessionId: 5 }, 400, 'HTTP_ERR_VALIDATION'],
  ['a session that is null', { input: 'a', sessionId: null }, 400, 'HTTP_ERR_VALIDATION'],
  ['an empty session', { input: 'a', sessionId: '' }, 400, 'HTTP_ERR_VALIDATION'],
  ['a long session', { input: 'a', sessionId: 's'.repeat(257) }, 400, 'HTTP_ERR_VALIDATION'],
  ['a session with a line break', { input: 'a', sessionId: 'a\nb' }, 400, 'HTTP_ERR_VALIDATION'],
  ['a user with a NUL', { input: 'a', userId: 'a\0' }, 400, 'HTTP_ERR_VALIDATION'],
  ['a user that is a list', { input: 'a', userId: ['a'] }, 400, 'HTTP_ERR_VALIDATION'],
  ['a key that cannot be in a header', { input: 'a', apiKey: 'sk-a\r\nx: y' }, 400, 'HTTP_ERR_VALIDATION'],
  ['a key that is no ASCII', { input: 'a', apiKey: 'ключ' }, 400, 'HTTP_ERR_VALIDATION'],
  ['an empty key', { input: 'a', apiKey: '' }, 400, 'HTTP_ERR_VALIDATION'],
  ['a key that is a number', { input: 'a', apiKey: 1 }, 400, 'HTTP_ERR_VALIDATION'],
  ['another onDisconnect', { input: 'a', onDisconnect: 'stay' }, 400, 'HTTP_ERR_VALIDATION'],
  ['an input that is null', { input: null }, 400, 'RUN_ERR_BAD_INPUT'],
  ['an empty input', { input: '' }, 400, 'RUN_ERR_BAD_INPUT'],
  ['an empty list', { input: [] }, 400, 'RUN_ERR_BAD_INPUT'],
  ['an input that is a number', { input: 5 }, 400, 'RUN_ERR_BAD_INPUT'],
  ['an input that is an object', { input: { text: 'a' } }, 400, 'RUN_ERR_BAD_INPUT'],
  ['a part without a type', { input: [{ text: 'a' }] }, 400, 'RUN_ERR_BAD_INPUT'],
  ['a part of another type', { input: [{ type: 'video', text: 'a' }] }, 400, 'RUN_ERR_BAD_INPUT'],
  ['a part with more', { input: [{ type: 'text', text: 'a', more: 1 }] }, 400, 'RUN_ERR_BAD_INPUT']
]

async function requireAlive(t: Tap, { post }: TestApp): Promise<void> {
  const response = await post('/agents/echo/run', { input: 'alive' })
  t.match(await response.json(), { text: 'alive' })
}
type Tap = Parameters<typeof requireError>[0]

t.test('bodies', async (t) => {
  const app = await buildApp(t, { runnables: [echo] })
  for (const [says, body, statusCode, code] of bodies) {
    for (const verb of ['run', 'stream']) {
      const headers = { 'content-type': 'application/json' }
      await requireError(t, await app.post(`/agents/echo/${verb}`, body, headers), statusCode, code, says)
    }
  }
  const marked = await app.post('/agents/echo/run', '\ufeff{"input":"a"}', {
    'content-type': 'application/json'
  })
  t.match(await marked.json(), { text: 'a' }, 'JSON may begin with a byte order mark')
  await requireAlive(t, app)
})

t.test('valid edge cases', async (t) => {
  const { post } = await buildApp(t, {
    runnables: [
      { ...echo, inputSchema: {} as never },
      { ...echo, name: 'text' }
    ]
  })
  const good: unknown[] = [
    { input: 'a', sessionId: 's'.repeat(256) },
    { input: 'a', sessionId: 'Ünï 助手 🎈', userId: '__proto__' },
    '{"input":"\\ud83c\\udf88 \\u0000 \\u2028"}',
    '{"input":"a","sessionId":"constructor"}',
    ` \n{"input":"${'x'.repeat(1_048_000)}"}`
  ]
  for (const body of good) t.equal((await post('/agents/text/run', body)).status, 200)
})

t.test('invalid fields are named', async (t) => {
  const { post } = await buildApp(t, { runnables: [echo] })
  const fields: [body: object, path: string, message: RegExp][] = [
    [{ input: 'a', more: 1 }, 'body/more', /is not known/],
    [{ input: 'a', sessionId: 5 }, 'body/sessionId', /must be string/],
    [{ input: 'a', onDisconnect: 'x' }, 'body/onDisconnect', /must be one of cancel, continue/]
  ]
  for (const [body, path, message] of fields) {
    const response = await post('/agents/echo/run', body)
    const { errors, ...error } = await requireError(t, response, 400, 'HTTP_ERR_VALIDATION', path)
    t.match(errors, [{ path, message }])
    t.equal(errors?.length, 1)
    t.equal(error.message, `${path}: ${errors?.[0]?.message}`)
  }
})

t.test('content types', async (t) => {
  const app = await buildApp(t, { runnables: [echo] })
  const body = '{"input":"a"}'
  for (const type of [
    'text/plain',
    'text/html',
    'application/xml',
    'application/x-www-form-urlencoded',
    'json',
    '*/*',
    ';',
    'multipart/form-data'
  ]) {
    const response = await app.post('/agents/echo/run', body, { 'content-type': type })
    await requireError(t, response, 415, 'HTTP_ERR_UNSUPPORTED_MEDIA_TYPE', type)
  }
  const told = await app.post('/agents/echo/run', body, { 'content-type': 'text/plain' })
  t.match(await told.json(), { message: /send application\/json/ })
  const missing = await fetch(`${app.url}/agents/echo/run`, { method: 'POST', body: new Uint8Array([1]) })
  await requireError(t, missing, 415, 'HTTP_ERR_UNSUPPORTED_MEDIA_TYPE', 'none')
  const none = await fetch(`${app.url}/agents/echo/run`, { method: 'POST' })
  await requireError(t, none, 400, 'HTTP_ERR_VALIDATION', 'no body at all')
  for (const type of [
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/json;charset="utf-8"'
  ])
    t.equal((await app.post('/agents/echo/run', body, { 'content-type': type })).status, 200, type)
  await requireAlive(t, app)
})

t.test('names and paths', async (t) => {
  const app = await buildApp(t, { runnables: [echo] })
  const names: [name: string, statusCode: number, code: string][] = [
    ['none', 404, 'HTTP_ERR_UNKNOWN_RUNNABLE'],
    ['ECHO', 404, 'HTTP_ERR_UNKNOWN_RUNNABLE'],
    ['echo%20', 404, 'HTTP_ERR_UNKNOWN_RUNNABLE'],
    ['a%2fb', 404, 'HTTP_ERR_UNKNOWN_RUNNABLE'],
    ['..%2f..%2fetc%2fpasswd', 404, 'HTTP_ERR_UNKNOWN_RUNNABLE'],
    ['a%00b', 404, 'HTTP_ERR_UNKNOWN_RUNNABLE'],
    ['%0d%0aset-cookie:x', 404, 'HTTP_ERR_UNKNOWN_RUNNABLE'],
    ['__proto__', 404, 'HTTP_ERR_UNKNOWN_RUNNABLE'],
    ['constructor', 404, 'HTTP_ERR_UNKNOWN_RUNNABLE'],
    ['toString', 404, 'HTTP_ERR_UNKNOWN_RUNNABLE'],
    ['a/b/c', 404, 'HTTP_ERR_ROUTE_NOT_FOUND'],
    ['a'.repeat(10_000), 414, 'HTTP_ERR_URL_TOO_LONG'],
    ['%zz', 400, 'HTTP_ERR_BAD_URL'],
    ['%', 400, 'HTTP_ERR_BAD_URL'],
    ['%c0%af', 400, 'HTTP_ERR_BAD_URL'],
    ['%ed%a0%80', 400, 'HTTP_ERR_BAD_URL'],
    ['%ff', 400, 'HTTP_ERR_BAD_URL']
  ]
  for (const [name, statusCode, code] of names) {
    const says = name.slice(0, 40)
    await requireError(t, await app.post(`/agents/${name}/run`, { input: 'a' }), statusCode, code, says)
    await requireError(t, await app.post(`/agents/${name}/stream`, { input: 'a' }), statusCode, code, says)
    await requireError(t, await app.get(`/agents/${name}`), statusCode, code, says)
  }
  await requireError(t, await app.post('/robots/echo/run', { input: 'a' }), 404, 'HTTP_ERR_ROUTE_NOT_FOUND')
  await requireAlive(t, app)
})

t.test('without frameworkErrors a bad URL has Fastify’s own shape', async (t) => {
  const { get } = await buildApp(t, { handsOverBadUrls: false })
  t.match(await (await get('/agents/%zz')).json(), { statusCode: 400, error: 'Bad Request' })
})

t.test('requests with misleading headers', async (t) => {
  const app = await buildApp(t, { runnables: [echo] })
  const head =
    'POST /api/agents/echo/run HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n'
  const tooLong = await sendRaw(app.origin, `${head}Content-Length: 999999999\r\n\r\n{`)
  const answer = await readAll(tooLong)
  t.match(answer, /^HTTP\/1\.1 413 /)
  const error = JSON.parse(answer.slice(answer.indexOf('{'))) as ErrorBody
  t.equal(error.code, 'HTTP_ERR_BODY_TOO_LARGE')

  const chunked = await sendRaw(app.origin, `${head}Transfer-Encoding: chunked\r\n\r\n`)
  chunked.on('error', () => {})
  const chunk = 'x'.repeat(65_536)
  for (let i = 0; i < 20; i++) chunked.write(`10000\r\n${chunk}\r\n`)
  t.match(await readAll(chunked), /^HTTP\/1\.1 413 [^]*HTTP_ERR_BODY_TOO_LARGE/)

  const gone = await sendRaw(app.origin, `${head}Content-Length: 100\r\n\r\n{"input":`)
  gone.destroy()
  await requireAlive(t, app)
})

t.test('limits can be set', async (t) => {
  const { post } = await buildApp(t, {
    runnables: [echo],
    options: { limits: { bodyLimit: 100, jsonDepth: 3 } }
  })
  t.equal((await post('/agents/echo/run', { input: [{ type: 'text', text: 'a' }] })).status, 200)
  await requireError(t, await post('/agents/echo/run', { input: [{ type: {} }] }), 400, 'HTTP_ERR_BAD_JSON')
  await requireError(
    t,
    await post('/agents/echo/run', { input: 'a'.repeat(100) }),
    413,
    'HTTP_ERR_BODY_TOO_LARGE'
  )
})
