import type { ErrorBody } from '@svc/http'
import { createRegistry, textOfInput, type RunResult } from '@svc/registry'
import { errorFromStored } from '@svc/contract'
import { scriptedRunnable } from '@svc/testing'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'

t.test('each kind of runnable runs to its result', async (t) => {
  const runnables = (['agent', 'team', 'workflow'] as const).map((kind) =>
    scriptedRunnable([{ type: 'text', text: `I am a ${kind}` }], { kind, name: 'same' })
  )
  const { post } = await buildApp(t, { runnables })
  for (const kind of ['agent', 'team', 'workflow']) {
    const response = await post(`/${kind}s/same/run`, { input: 'who?', sessionId: 's-1' })
    t.equal(response.status, 200)
    t.match(response.headers.get('content-type'), /^application\/json; charset=utf-8/)
    const result = (await response.json()) as RunResult
    t.match(result, {
      text: `I am a ${kind}`,
      toolCalls: [],
      structured: null,
      sessionId: 's-1',
      finishReason: 'stop',
      usage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
    })
    t.type(result.durationMs, 'number')
    t.match(result.runId, /^\w{31}$/)
    t.equal(response.headers.get('x-run-id'), result.runId)
  }
})

t.test('optional tokens reach the client, and are left out where nobody reports them', async (t) => {
  const usage = { promptTokens: 3, completionTokens: 2, totalTokens: 5, reasoningTokens: 1 }
  const thinking = scriptedRunnable([{ type: 'step', index: 0, usage }], { name: 'thinking' })
  const { post } = await buildApp(t, { runnables: [thinking] })
  const result = (await (await post('/agents/thinking/run', { input: 'x' })).json()) as RunResult
  t.strictSame(result.usage, usage)
})

t.test('the fields of the body reach the runnable', async (t) => {
  const seen: object[] = []
  const spy = scriptedRunnable([
    (context, input) => {
      const { sessionId, userId, sessionOwner, principal } = context
      seen.push({
        input,
        sessionId,
        userId,
        sessionOwner,
        sub: principal.sub,
        key: context.apiKey()?.reveal()
      })
    }
  ])
  const { post } = await buildApp(t, { runnables: [spy] })
  const input = [
    { type: 'text', text: 'see' },
    { type: 'image', mimeType: 'image/png', data: 'AAAA' }
  ]
  await post('/agents/scripted/run', { input, sessionId: 's', userId: 'u', apiKey: 'key' })
  t.strictSame(seen, [
    { input, sessionId: 's', userId: 'u', sessionOwner: 'u', sub: 'anonymous', key: 'key' }
  ])
})

t.test('a request starts the runnable that it found before its body was read', async (t) => {
  const { post } = await buildApp(t, {
    runnables: [echo],
    before: (app) => {
      app.addHook('preValidation', async () => void app.registry.remove('agent', 'echo'))
    }
  })
  t.match(await (await post('/agents/echo/run', { input: 'first' })).json(), { text: 'first' })
  await requireError(t, await post('/agents/echo/run', { input: 'second' }), 404, 'HTTP_ERR_UNKNOWN_RUNNABLE')
})

t.test('a runnable with its own schema accepts matching input', async (t) => {
  const inputSchema = Type.Object({ n: Type.Integer() })
  const { post } = await buildApp(t, {
    runnables: [{ kind: 'workflow', name: 'sum', inputSchema, run: textOfInput }]
  })
  const good = await post('/workflows/sum/run', { input: { n: 1 } })
  t.match(await good.json(), { text: '{"n":1}' })
  for (const input of [{ n: '1' }, 'text', null])
    await requireError(t, await post('/workflows/sum/run', { input }), 400, 'RUN_ERR_BAD_INPUT')
})

t.test('a canceled run is a result', async (t) => {
  const runnable = scriptedRunnable([{ type: 'text', text: 'so far' }, 60_000])
  const { post, runs } = await buildApp(t, { runnables: [runnable] })
  const response = post('/agents/scripted/run', { input: 'x' })
  while (runs.active === 0) await new Promise(setImmediate)
  const page = await runs.list({ limit: 1 })
  for (const { runId } of page.runs) await runs.cancel(runId)
  t.match(await (await response).json(), { text: 'so far', finishReason: 'canceled' })
})

t.test('an invalid result is an error of the runnable, not a bad request', async (t) => {
  const lines: string[] = []
  const logger = { level: 'info', stream: { write: (line: string) => void lines.push(line) } }
  const runnable = { kind: 'agent' as const, name: 'five', run: (() => 5) as never }
  const { post } = await buildApp(t, { runnables: [runnable], fastify: { logger } })
  await requireError(t, await post('/agents/five/run', { input: 'x' }), 500, 'RUN_ERR_BAD_RESULT')
  t.match(
    lines.map((line) => JSON.parse(line) as object).filter((line) => 'err' in line),
    [{ level: 50, msg: 'run failed', code: 'RUN_ERR_BAD_RESULT', err: { stack: /"five" gave neither/ } }]
  )
})

t.test('a failed run replies with the status of its error', async (t) => {
  const limited = errorFromStored({
    code: 'RUN_ERR_MODEL_RATE_LIMIT',
    message: 'The model is busy',
    retryable: true,
    statusCode: 429,
    retryAfter: 7
  })
  const { post } = await buildApp(t, {
    runnables: [
      scriptedRunnable(
        [
          () => {
            throw limited
          }
        ],
        { name: 'limited' }
      ),
      scriptedRunnable(
        [
          () => {
            throw new Error('a secret')
          }
        ],
        { name: 'broken' }
      )
    ]
  })
  const busy = await post('/agents/limited/run', { input: 'x' })
  t.equal(busy.headers.get('retry-after'), '7')
  t.match(busy.headers.get('x-run-id'), /./)
  await requireError(t, busy, 429, 'RUN_ERR_MODEL_RATE_LIMIT')

  const failed = await requireError(
    t,
    await post('/agents/broken/run', { input: 'x' }),
    500,
    'RUN_ERR_FAILED'
  )
  t.notMatch(JSON.stringify(failed), /secret/)
})

t.test('a problem document on request', async (t) => {
  const { post } = await buildApp(t)
  const accept = 'text/html, application/problem+json;q=0.9'
  const response = await post('/agents/none/run', { input: 'x' }, { accept })
  t.equal(response.status, 404)
  t.match(response.headers.get('content-type'), /^application\/problem\+json/)
  const { requestId, ...problem } = (await response.json()) as ErrorBody
  t.match(requestId, /./)
  t.strictSame(problem, {
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: 'No agent "none"',
    code: 'HTTP_ERR_UNKNOWN_RUNNABLE'
  })
})

t.test('runnables added after listen can run at once', async (t) => {
  const own = createRegistry()
  const { post, get, registry } = await buildApp(t, { options: { registry: own } })
  const elsewhere = await buildApp(t)
  await requireError(t, await post('/agents/echo/run', { input: 'x' }), 404, 'HTTP_ERR_UNKNOWN_RUNNABLE')

  own.add(echo)
  t.match(await (await post('/agents/echo/run', { input: 'here' })).json(), { text: 'here' })
  t.match(await (await get('/registry')).json(), { agents: ['echo'] })
  t.equal(registry.get('agent', 'echo'), undefined)
  await requireError(
    t,
    await elsewhere.post('/agents/echo/run', { input: 'x' }),
    404,
    'HTTP_ERR_UNKNOWN_RUNNABLE'
  )

  own.remove('agent', 'echo')
  await requireError(t, await post('/agents/echo/run', { input: 'x' }), 404, 'HTTP_ERR_UNKNOWN_RUNNABLE')
})

t.test('an engine that accepts no runs', async (t) => {
  const { post, runs } = await buildApp(t, { runnables: [echo] })
  await runs.close()
  await requireError(t, await post('/agents/echo/run', { input: 'x' }), 503, 'RUN_ERR_DRAINING')
  await requireError(t, await post('/agents/echo/stream', { input: 'x' }), 503, 'RUN_ERR_DRAINING')
})
