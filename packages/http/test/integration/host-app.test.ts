import http, { type HttpOptions } from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'

t.test('the app and its other routes are unchanged', async (t) => {
  const { origin, post } = await buildApp(t, {
    runnables: [echo],
    before: (app) => {
      const body = { type: 'object', properties: { n: { type: 'number' } } }
      app.post('/host', { schema: { body } }, (request, reply) => reply.send(request.body))
      app.post('/text', (request, reply) => reply.send(request.body))
      app.get('/fail', async () => {
        throw new Error('the app says so')
      })
    }
  })
  const send = (path: string, body: string, type = 'application/json') =>
    fetch(origin + path, { method: 'POST', headers: { 'content-type': type }, body })

  t.strictSame(await (await send('/host', '{"n":"5","more":1}')).json(), { n: 5, more: 1 }, 'coercion')
  t.equal(await (await send('/text', 'hello', 'text/plain')).text(), 'hello', 'parsers')
  t.strictSame(await (await send('/text', '["\\ud800"]')).json(), ['\ud800'])
  t.strictSame(await (await fetch(`${origin}/fail`)).json(), {
    statusCode: 500,
    error: 'Internal Server Error',
    message: 'the app says so'
  })
  t.strictSame(await (await fetch(`${origin}/none`)).json(), {
    message: 'Route GET:/none not found',
    error: 'Not Found',
    statusCode: 404
  })
  t.match(await (await send('/host', '{"n":"x"}')).json(), { code: 'FST_ERR_VALIDATION' })
  t.equal((await post('/agents/echo/run', { input: 'a' })).status, 200)
})

t.test('settings of the app do not reach the plugin', async (t) => {
  const { post, get } = await buildApp(t, {
    runnables: [echo],
    fastify: { bodyLimit: 10, ajv: { customOptions: { coerceTypes: 'array', removeAdditional: 'all' } } },
    before: (app) => {
      app.setErrorHandler(async () => 'the app')
      app.setNotFoundHandler(async () => 'the app')
      app.setValidatorCompiler(() => () => true)
      app.setSerializerCompiler(() => () => '"the app"')
      app.setSchemaErrorFormatter(() => new Error('the app'))
      app.removeAllContentTypeParsers()
      app.addContentTypeParser('application/json', (_request, _payload, done) =>
        done(null, { input: 'the app' })
      )
    }
  })
  t.match(await (await post('/agents/echo/run', { input: 'a longer text' })).json(), {
    text: 'a longer text'
  })
  await requireError(t, await post('/agents/echo/run', { input: 'a', x: 1 }), 400, 'HTTP_ERR_VALIDATION')
  await requireError(t, await get('/none'), 404, 'HTTP_ERR_ROUTE_NOT_FOUND')
})

t.test('without a prefix it leaves unknown paths to the app', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(http, { registry: createRegistry() })
  app.setNotFoundHandler(async () => 'mine')
  t.equal((await app.inject('/livez')).statusCode, 200)
  t.equal((await app.inject('/none')).body, 'mine')
})

t.test('two surfaces of one app share the engine and differ in what they show', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const { agents }: HttpOptions = { agents: [echo] }
  await app.register(http, { prefix: '/a', registry: false, agents })
  const { runs } = app
  await app.register(http, { prefix: '/b', registry: createRegistry() })
  t.equal(app.runs, runs)
  const response = await app.inject({ method: 'POST', url: '/a/agents/echo/run', payload: { input: 'x' } })
  const runId = String(response.headers['x-run-id'])
  t.equal((await app.inject(`/a/runs/${runId}`)).statusCode, 200)
  t.equal((await app.inject(`/b/runs/${runId}`)).statusCode, 404)
  t.strictSame((await app.inject('/b/runs')).json(), { runs: [], nextCursor: null })
})

t.test('in a scope of the app it stays in that scope', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(
    async (scope) => {
      await scope.register(registry, { registry: createRegistry() })
      await scope.register(http, { prefix: '/api', agents: [echo] })
    },
    { prefix: '/v1' }
  )
  await app.ready()
  t.equal(app.hasDecorator('runs'), false)
  t.equal((await app.inject('/v1/api/livez')).statusCode, 200)
})
