import cors, { type FastifyCorsOptions } from '@fastify/cors'
import jwtPlugin from '@fastify/jwt'
import multipart, {
  type FastifyMultipartAttachFieldsToBodyOptions,
  type FastifyMultipartOptions
} from '@fastify/multipart'
import rateLimit from '@fastify/rate-limit'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import http, { type HttpOptions } from '@svc/http'
import { createRegistry, type AcceptedMessage } from '@svc/registry'
import Fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { claims, createTokenMaker } from '../auth/token-maker.ts'
import { echo } from '../helpers/build-app.ts'
import { describeInput, formOf } from '../helpers/upload-app.ts'

const reader = {
  kind: 'agent' as const,
  name: 'reader',
  run: async (input: unknown) => JSON.stringify(await describeInput(input as AcceptedMessage))
}

type Register = (app: FastifyInstance) => unknown

/** The orders in which a host may register a plugin of its own and this one; `scope` is one of the app's. */
const ORDERS: Record<string, (app: FastifyInstance, host: Register, ours: Register) => Promise<unknown>> = {
  'before it': async (app, host, ours) => (await host(app), ours(app)),
  'after it': async (app, host, ours) => (await ours(app), host(app)),
  'before the scope that it is in': async (app, host, ours) => (
    await host(app),
    app.register(async (scope) => void (await ours(scope)))
  ),
  'after the scope that it is in': async (app, host, ours) => (
    await app.register(async (scope) => void (await ours(scope))),
    host(app)
  ),
  'in a scope beside it': async (app, host, ours) => (
    await app.register(async (scope) => void (await host(scope))),
    ours(app)
  )
}
const AROUND = Object.entries(ORDERS).filter(([order]) => order !== 'in a scope beside it')

/** An app with a plugin of its host and this one; it has the route `/host`. */
async function buildHost(
  t: Test,
  order: (typeof ORDERS)[string],
  host: Register,
  options: HttpOptions,
  prefix = '/api'
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close().catch(() => {}))
  const ours = (scope: FastifyInstance) =>
    scope.register(http, { prefix, registry: createRegistry(), agents: [echo, reader], ...options })
  await order(app, host, ours)
  app.get('/host', async () => 'host')
  await app.ready()
  return app
}

const run = (app: FastifyInstance, headers: Record<string, string> = {}) =>
  app.inject({ method: 'POST', url: '/api/agents/echo/run', headers, payload: { input: 'hi' } })
const allowed = ({ headers }: LightMyRequestResponse) => headers['access-control-allow-origin']

t.test('@fastify/cors', async (t) => {
  const mine: FastifyCorsOptions = { origin: 'https://host.example' }
  const origin = 'https://page.example'
  const host: Register = (app) => app.register(cors, mine)
  const preflight = (app: FastifyInstance, url: string) =>
    app.inject({ method: 'OPTIONS', url, headers: { origin, 'access-control-request-method': 'POST' } })

  for (const [order, register] of AROUND)
    for (const prefix of ['/api', ''])
      await t.test(`${order}, prefix "${prefix}": with the option it is refused by name`, async (t) => {
        const starting = buildHost(t, register, host, { cors: true }, prefix)
        await t.rejects(starting, { code: 'HTTP_ERR_BAD_OPTION', message: /cors: .*@fastify\/cors/ })
      })

  for (const [order, register] of AROUND)
    await t.test(`${order}: without the option it is for all routes`, async (t) => {
      const app = await buildHost(t, register, host, {})
      for (const response of [await run(app, { origin }), await preflight(app, '/api/agents/echo/run')])
        t.equal(allowed(response), mine.origin)
    })

  for (const prefix of ['/api', ''])
    await t.test(`in a scope beside it, prefix "${prefix}": each for its own routes`, async (t) => {
      const beside: Register = async (app) => {
        await host(app)
        app.get('/beside', async () => 'beside')
      }
      const app = await buildHost(t, ORDERS['in a scope beside it']!, beside, { cors: true }, prefix)
      for (const [url, by] of [
        [`${prefix}/agents/echo/run`, '*'],
        [`${prefix}/agents/echo/stream`, '*'],
        [`${prefix}/runs/x/cancel`, '*'],
        ['/beside', mine.origin]
      ] as const) {
        const response = await preflight(app, url)
        t.equal(response.statusCode, 204, url)
        t.equal(allowed(response), by, url)
      }
      t.equal(allowed(await app.inject({ url: `${prefix}/livez`, headers: { origin } })), '*')
      t.equal(allowed(await app.inject({ url: '/beside', headers: { origin } })), mine.origin)
    })

  await t.test('the option does not affect other routes of the app, also without a prefix', async (t) => {
    const app = await buildHost(t, ORDERS['before it']!, () => {}, { cors: true }, '')
    t.equal((await preflight(app, '/agents')).statusCode, 204)
    t.equal((await preflight(app, '/host')).statusCode, 404)
    t.equal((await preflight(app, '/none')).statusCode, 404)
  })
})

t.test('@fastify/multipart', async (t) => {
  const ways: (FastifyMultipartOptions | FastifyMultipartAttachFieldsToBodyOptions)[] = [
    {},
    { limits: { fileSize: 1, files: 1 } },
    { attachFieldsToBody: true },
    { attachFieldsToBody: 'keyValues', limits: { fileSize: 1 } }
  ]
  for (const [order, register] of Object.entries(ORDERS))
    for (const options of ways)
      await t.test(`${order}, with ${JSON.stringify(options)}`, async (t) => {
        const host: Register = async (app) => {
          await app.register(multipart, structuredClone(options))
          app.post('/form', (request, reply) => {
            const { name } = (request.body ?? {}) as { name?: string | { value: string } }
            const text = typeof name === 'object' ? name.value : name
            void reply.send({ isForm: request.isMultipart(), name: text })
          })
        }
        const app = await buildHost(t, register, host, { fileUpload: true })
        const form = formOf({ input: 'look' }, ['one', 'text/plain', 'a.txt'], ['two', 'text/plain', 'b.txt'])
        const origin = await app.listen({ port: 0, host: '127.0.0.1' })
        const response = await fetch(`${origin}/api/agents/reader/run`, { method: 'POST', body: form })
        const { text = 'null' } = (await response.json()) as { text?: string }
        t.match(JSON.parse(text), [
          { type: 'text', text: 'look' },
          { filename: 'a.txt', size: 3 },
          { filename: 'b.txt', size: 3 }
        ])
        const own = await fetch(`${origin}/form`, { method: 'POST', body: formOf({ name: 'x' }) })
        t.strictSame(await own.json(), {
          isForm: true,
          ...(options.attachFieldsToBody !== undefined && { name: 'x' })
        })
      })
})

t.test('@fastify/jwt', async (t) => {
  const maker = createTokenMaker('HS256')
  for (const [order, register] of Object.entries(ORDERS))
    await t.test(order, async (t) => {
      const host: Register = async (app) => {
        await app.register(jwtPlugin, { secret: 'of the host' })
        app.get('/mine', (request) => request.jwtVerify())
        token = app.jwt.sign({ sub: 'host' })
      }
      let token = ''
      const app = await buildHost(t, register, host, { jwt: { secret: maker.secret } })
      const [mine, theirs] = [maker.sign(claims()), token].map((each) => ({
        authorization: `Bearer ${each}`
      }))
      t.equal((await run(app, mine)).statusCode, 200)
      t.equal((await run(app, theirs)).statusCode, 401)
      t.match((await app.inject({ url: '/mine', headers: theirs! })).json(), { sub: 'host' })
      t.equal((await app.inject({ url: '/mine', headers: mine! })).statusCode, 401)
    })
})

t.test('@fastify/rate-limit', async (t) => {
  for (const [order, register] of Object.entries(ORDERS))
    await t.test(`${order}: each has its limit`, async (t) => {
      const host: Register = async (app) => {
        await app.register(rateLimit, { max: 5, global: false })
        app.get('/limited', { config: { rateLimit: { max: 1 } } }, async () => 'limited')
      }
      const app = await buildHost(t, register, host, { rateLimit: { max: 2 } })
      const statuses: number[] = []
      for (let i = 0; i < 3; i++) statuses.push((await run(app)).statusCode)
      for (let i = 0; i < 2; i++) statuses.push((await app.inject('/limited')).statusCode)
      t.strictSame(statuses, [200, 200, 429, 200, 429])
      t.equal((await app.inject('/host')).statusCode, 200)
    })

  await t.test(
    'one of the host for all routes refuses in the one shape, with its own Retry-After',
    async (t) => {
      const host: Register = (app) => app.register(rateLimit, { max: 1, timeWindow: 90_000 })
      const app = await buildHost(t, ORDERS['before it']!, host, {})
      t.equal((await run(app)).statusCode, 200)
      const refused = await run(app)
      t.match(refused.json(), { statusCode: 429, code: 'HTTP_ERR_RATE_LIMITED' })
      t.equal(refused.headers['retry-after'], '90')
      t.equal((await app.inject('/api/livez')).statusCode, 200, 'health routes are exempt')
    }
  )
})

t.test('@fastify/swagger and @fastify/swagger-ui', async (t) => {
  const host: Register = async (app) => {
    await app.register(swagger, { openapi: { openapi: '3.0.3', info: { title: 'Host', version: '1' } } })
    await app.register(swaggerUi, { routePrefix: '/host-docs' })
    app.get('/described', { schema: { operationId: 'described' } }, async () => 'described')
  }
  for (const [order, register] of Object.entries(ORDERS))
    await t.test(`${order}: each has its document and page`, async (t) => {
      const app = await buildHost(t, register, host, { swagger: true })
      for (const page of ['/api/docs/', '/host-docs/'])
        t.equal((await app.inject(page)).statusCode, 200, page)
      const ours = (await app.inject('/api/docs/spec.json')).json<{ paths: object }>()
      t.ok('/api/agents' in ours.paths)
      t.notOk('/described' in ours.paths)
      const theirs = (await app.inject('/host-docs/json')).json<{ info: object; paths: object }>()
      t.match(theirs, { info: { title: 'Host' }, paths: { '/described': {} } })
    })

  await t.test('an existing page of the host is named', async (t) => {
    for (const [routePrefix, prefix] of [
      ['/docs', ''],
      ['/api/docs', '/api']
    ] as const) {
      const page: Register = async (app) => {
        await app.register(swagger)
        await app.register(swaggerUi, { routePrefix })
      }
      const starting = buildHost(t, ORDERS['before it']!, page, { swagger: true }, prefix)
      const message = new RegExp(`swagger.docsPath: .*"${routePrefix}"`)
      await t.rejects(starting, { code: 'HTTP_ERR_BAD_OPTION', message })
      await buildHost(t, ORDERS['before it']!, page, { swagger: { docsPath: '/reference' } }, prefix)
    }
    for (const path of ['/docs/json', '/docs/yaml']) {
      const route: Register = (app) => app.get(path, async () => 'host')
      const starting = buildHost(t, ORDERS['before it']!, route, { swagger: true }, '')
      await t.rejects(starting, { code: 'HTTP_ERR_BAD_OPTION', message: new RegExp(`"${path}"`) })
    }
  })
})
