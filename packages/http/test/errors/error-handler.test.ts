import { LogController } from 'fastify'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'

interface Line {
  level: number
  code?: string
  msg: string
}

/** An app that logs into an array, without the lines that Fastify writes for each request. */
async function buildLoggingApp(
  t: Parameters<typeof buildApp>[0],
  request: Parameters<typeof buildApp>[1] = {}
) {
  const lines: Line[] = []
  const stream = { write: (line: string) => lines.push(JSON.parse(line) as Line) }
  const logController = new LogController({ disableRequestLogging: true })
  const fastify = { logger: { level: 'info', stream }, logController }
  const app = await buildApp(t, { ...request, fastify })
  lines.length = 0
  return { ...app, lines }
}

const failing = async () => {
  const cause = Object.assign(new Error('connection lost'), { headers: { authorization: 'secret' } })
  throw Object.assign(new Error('no answer', { cause }), { request: { body: 'secret' } })
}

t.test('a refusal is logged once, at info, without client data', async (t) => {
  const { post, lines } = await buildLoggingApp(t, { runnables: [echo] })
  await post('/agents/echo/run?token=secret', { input: 'secret', extra: 'secret', apiKey: 'secret' })
  await post('/agents/echo/run', '{"input":"secret"', { authorization: 'secret' })
  t.match(lines, [
    { level: 30, code: 'HTTP_ERR_VALIDATION', statusCode: 400, reqId: String },
    { level: 30, code: 'HTTP_ERR_BAD_JSON', statusCode: 400, reqId: String }
  ])
  t.notMatch(JSON.stringify(lines), /secret/)
})

t.test('a failure is logged once, at error, without the properties of its error', async (t) => {
  const { get, lines } = await buildLoggingApp(t, { options: { middleware: failing } })
  const response = await get('/livez')
  t.equal(response.status, 500)
  t.notMatch(await response.text(), /no answer|stack/)
  t.match(lines, [
    {
      level: 50,
      code: 'HTTP_ERR_INTERNAL',
      err: {
        type: 'Error',
        stack: /^Error: no answer\n.*error-handler/,
        cause: { stack: /^Error: connection lost/ }
      }
    }
  ])
  t.notMatch(JSON.stringify(lines), /secret/)
})

t.test('a failed run is logged once, by the engine', async (t) => {
  const broken = scriptedRunnable([
    () => {
      throw new Error('no model')
    }
  ])
  const { post, lines } = await buildLoggingApp(t, { runnables: [broken] })
  await (await post('/agents/scripted/run', { input: 'x' })).text()
  t.equal(lines.length, 1)
  t.match(lines, [{ level: 50, code: 'RUN_ERR_FAILED', reqId: String }])
})

t.test('every thrown value gets a reply', async (t) => {
  const thrown = [
    undefined,
    null,
    'text',
    5,
    {},
    { statusCode: 200 },
    { statusCode: 'x' },
    { statusCode: 999 },
    Object.create(null)
  ]
  let index = 0
  const { get } = await buildApp(t, {
    options: {
      middleware: {
        // oxlint-disable-next-line promise/prefer-await-to-callbacks, promise/catch-or-return -- rejects with what it is given
        preHandler: () => Promise.reject(thrown[index++]) as never
      }
    }
  })
  for (const each of thrown) {
    const response = await get('/livez')
    t.equal(response.status, 500, typeof each)
    t.match(await response.json(), { code: 'HTTP_ERR_INTERNAL', requestId: String })
  }
})

t.test('a disconnect is logged, but not as an error', async (t) => {
  const { promise: started, resolve } = Promise.withResolvers<void>()
  const client = new AbortController()
  const { post, lines, runs } = await buildLoggingApp(t, {
    runnables: [scriptedRunnable([() => resolve(), 60_000])]
  })
  const response = post('/agents/scripted/run', { input: 'x' }, {}, client.signal)
  await started
  client.abort()
  await response.catch(() => {})
  while (runs.active > 0) await new Promise(setImmediate)
  t.match(lines, [{ level: 30, code: 'HTTP_ERR_CLIENT_CLOSED', runId: String }])
})

t.test('an injected request does not disconnect', async (t) => {
  const { app, lines, runs } = await buildLoggingApp(t, { runnables: [echo] })
  for (const route of ['run', 'stream']) {
    const request = { method: 'POST', url: `/api/agents/echo/${route}`, payload: { input: 'x' } } as const
    const { statusCode, headers } = await app.inject(request)
    t.equal(statusCode, 200, route)
    t.match(await runs.get(String(headers['x-run-id'])), { status: 'completed' })
    await new Promise(setImmediate)
  }
  t.strictSame(lines, [])
})
