import http, { errorHandler, frameworkErrors, type ErrorBody } from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import Fastify from 'fastify'
import type { FastifyValidationResult } from 'fastify/types/schema.js'
import t, { type Test } from 'tap'
import { buildApp, echo } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'
import { buildSecuredApp } from '../helpers/secured-app.ts'

/** A host that has the plugin `errorHandler`, and routes of its own. */
async function buildHost(t: Test) {
  const app = Fastify({ frameworkErrors })
  await app.register(errorHandler)
  await app.register(registry, { registry: createRegistry() })
  await app.register(http, { prefix: '/api', agents: [echo] })
  app.get('/fails', async () => {
    throw new Error('secret')
  })
  app.get('/teapot', async () => {
    throw Object.assign(new Error('short and stout'), { statusCode: 418, code: 'TEA_ERR_POT' })
  })
  app.get('/nothing', async () => {
    // oxlint-disable-next-line only-throw-error -- a host may
    throw null
  })
  const body = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  app.post('/checked', { schema: { body } }, async () => 'fine')
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  return origin
}

t.test('errorHandler on a host: the same shape everywhere', async (t) => {
  const origin = await buildHost(t)
  const post = (body: string) =>
    fetch(`${origin}/checked`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const failed = await requireError(t, await fetch(`${origin}/fails`), 500, 'HTTP_ERR_INTERNAL')
  t.equal(failed.message, 'Internal Server Error')
  const tea = await fetch(`${origin}/teapot`)
  t.match(await tea.json(), {
    statusCode: 418,
    code: 'TEA_ERR_POT',
    message: 'short and stout',
    requestId: /./
  })
  t.equal((await fetch(`${origin}/nothing`)).status, 500)
  await requireError(t, await fetch(`${origin}/none`), 404, 'HTTP_ERR_ROUTE_NOT_FOUND')
  await requireError(t, await fetch(`${origin}/%zz`), 400, 'HTTP_ERR_BAD_URL')
  await requireError(t, await post('{'), 400, 'HTTP_ERR_BAD_REQUEST')
  await requireError(t, await post(''), 400, 'HTTP_ERR_BAD_JSON')
  const invalid = await requireError(t, await post('{"n":"x"}'), 400, 'HTTP_ERR_VALIDATION')
  t.strictSame(invalid.errors, [{ path: 'body/n', message: 'must be integer' }])
  t.equal((await post('{"n":1}')).status, 200)
  await requireError(t, await fetch(`${origin}/api/agents/none`), 404, 'HTTP_ERR_UNKNOWN_RUNNABLE')
  const problem = await fetch(`${origin}/none`, { headers: { accept: 'application/problem+json' } })
  t.match(await problem.json(), { status: 404, code: 'HTTP_ERR_ROUTE_NOT_FOUND' })
})

t.test('errorHandler on a host: faults are listed for every part of a request', async (t) => {
  const app = Fastify({ ajv: { customOptions: { allErrors: true } } })
  t.teardown(() => app.close())
  await app.register(errorHandler)
  const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
  const integer = { type: 'integer' }
  const schema = {
    params: object({ id: integer }),
    querystring: object({ page: integer }),
    headers: object({ 'x-count': integer }),
    body: object(
      {
        n: integer,
        deep: object({ kind: { enum: ['a', 'b'] } }),
        either: { anyOf: [integer, { const: 'x' }] }
      },
      { required: ['n', 'm'] }
    )
  }
  app.post('/checked/:id', { schema }, async () => 'fine')
  app.post(
    '/by/app',
    { schema, validatorCompiler: () => () => ({ error: new Error('not this') }) },
    async () => 1
  )
  app.post('/by/odd', { schema, validatorCompiler: () => odd }, async () => 1)
  app.post('/by/words', { schema, schemaErrorFormatter: () => new Error('in its own words') }, async () => 1)

  const ask = async (url: string, payload: object = { n: 1, m: 1 }, headers: Record<string, string> = {}) =>
    (await app.inject({ method: 'POST', url, payload, headers })).json<ErrorBody>()
  const listed: [errors: unknown, body: ErrorBody][] = [
    [[{ path: 'params/id', message: 'must be integer' }], await ask('/checked/x')],
    [[{ path: 'query/page', message: 'must be integer' }], await ask('/checked/1?page=x')],
    [
      [{ path: 'headers/x-count', message: 'must be integer' }],
      await ask('/checked/1', undefined, { 'x-count': 'x' })
    ],
    [
      [
        { path: 'body/n', message: 'is required' },
        { path: 'body/m', message: 'is required' }
      ],
      await ask('/checked/1', {})
    ],
    [
      [
        { path: 'body/n', message: 'must be integer' },
        { path: 'body/deep/kind', message: 'must be one of a, b' }
      ],
      await ask('/checked/1', { n: 'x', m: 1, deep: { kind: 'c' } })
    ],
    [[{ path: 'body/either', message: String }], await ask('/checked/1', { n: 1, m: 1, either: 'y' })]
  ]
  for (const [errors, body] of listed) {
    t.match(body, { statusCode: 400, code: 'HTTP_ERR_VALIDATION', message: /./ })
    t.match(body.errors, errors)
    t.equal(body.errors?.length, (errors as object[]).length)
  }
  const { message, errors } = await ask('/by/words', { n: 'x' })
  t.equal(message, 'in its own words')
  t.match(errors, [{ path: 'body/m' }])
  for (const url of ['/by/app', '/by/odd'])
    t.match(await ask(url), { statusCode: 400, code: 'HTTP_ERR_VALIDATION', errors: undefined }, url)
})

/** Finds faults that are not in the form of Ajv. */
const odd: FastifyValidationResult = Object.assign(() => false, {
  errors: ['no object', { message: 'no path' }] as never[]
})

t.test('the order: authentication, middleware, limit of the route, validation', async (t) => {
  const order: string[] = []
  const app = await buildSecuredApp(t, {
    runnables: [{ ...echo, run: () => (order.push('run'), 'x'), stream: undefined } as never],
    before: (host) =>
      host.addHook('onRequest', async (request) => {
        order.push(`host ${(request.principal as unknown) === undefined ? 'nobody' : 'somebody'}`)
      }),
    options: {
      middleware: [
        async (request) => void order.push(`first ${request.principal.sub} ${request.body as string}`),
        {
          onRequest: (_request, _reply, done) => (order.push('second'), done()),
          preHandler: async ({ body }) => void order.push(`handler ${JSON.stringify(body)}`)
        }
      ]
    }
  })
  const run = (headers: Record<string, string>, body: object = { input: 'hi' }) => {
    order.length = 0
    return app.ask('POST', '/agents/echo/run', headers, body)
  }
  t.equal((await run(app.as('ann', 'agents:run'))).status, 200)
  t.strictSame(order, ['host nobody', 'first ann undefined', 'second', 'handler {"input":"hi"}', 'run'])
  t.equal((await run({})).status, 401)
  t.strictSame(order, ['host nobody'], 'without credentials nothing of it runs')
  t.equal((await run(app.as('ann'))).status, 403)
  t.strictSame(order, ['host nobody'])
  t.equal((await run(app.as('ann', 'agents:run'), { input: 'hi', more: 1 })).status, 400)
  t.strictSame(order, ['host nobody', 'first ann undefined', 'second'])
  order.length = 0
  await app.ask('GET', '/livez')
  t.strictSame(order, ['host nobody', 'first anonymous undefined', 'second', 'handler undefined'])
})

t.test('middleware may refuse, reply or fail', async (t) => {
  const ways: [middleware: unknown, statusCode: number, code: string | undefined][] = [
    [
      async () => Promise.reject(Object.assign(new Error('not now'), { statusCode: 403 })),
      403,
      'HTTP_ERR_BAD_REQUEST'
    ],
    [
      (_request: unknown, _reply: unknown, done: (err: Error) => void) => done(new Error('secret')),
      500,
      'HTTP_ERR_INTERNAL'
    ],
    [
      async (_request: unknown, reply: { code(n: number): { send(b: object): unknown } }) =>
        reply.code(202).send({ mine: true }),
      202,
      undefined
    ]
  ]
  for (const [middleware, statusCode, code] of ways) {
    const { url } = await buildApp(t, { options: { middleware } as object })
    const response = await fetch(`${url}/livez`)
    t.equal(response.status, statusCode)
    const body = (await response.json()) as ErrorBody
    t.equal(body.code, code)
    t.notMatch(JSON.stringify(body), /secret/)
  }
})
