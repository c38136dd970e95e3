import http, { HttpOptionsSchema, type HttpOptions } from '@svc/http'
import { createRegistry } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import Fastify from 'fastify'
import t from 'tap'
import { buildApp, echo } from './helpers/build-app.ts'

t.test('an unknown or invalid option is named', async (t) => {
  const bad: [options: object, says: RegExp][] = [
    [{ agent: [] }, /agent\b/],
    [{ limits: { bodySize: 1 } }, /limits\/bodySize/],
    [{ limits: { bodyLimit: '1mb' } }, /limits\/bodyLimit/],
    [{ limits: { jsonDepth: 0 } }, /limits\/jsonDepth/],
    [{ limits: null }, /limits/],
    [{ heartbeat: 0 }, /heartbeat/],
    [{ heartbeat: '15s' }, /heartbeat/],
    [{ onDisconnect: 'stop' }, /onDisconnect/],
    [{ registry: true }, /registry/],
    [{ registry: {} }, /registry\/get: expected a function, got nothing; registry\/list: /],
    [{ middleware: 'cors' }, /middleware: expected a function, an object or a list, got a string$/],
    [{ middleware: [{ onrequest: () => {} }] }, /middleware\/0\/onrequest: no such option$/],
    [{ providerKeyHeaders: { 'X-Key': 'openai' } }, /providerKeyHeaders\/X-Key: no such option, .*a-z0-9-/],
    [
      { jwt: { secret: { key: 'hush' } } },
      /jwt\/secret: expected a string, bytes or a function, got an object$/
    ],
    [{ jwt: { secret: 'x', audience: [''] } }, /jwt\/audience\/0: expected a string that is not empty, /],
    [{ authenticate: Promise.resolve() }, /authenticate: expected a function or false, got a promise$/],
    [{ cors: { orgin: ['https://a.example'] } }, /cors\/orgin\b/],
    [{ cors: {} }, /cors\/origin\b/],
    [{ cors: { methods: ['GET'], origin: undefined } }, /cors\/origin\b/],
    [{ cors: { origin: 'https://a.example', credentials: 'true' } }, /cors\/credentials\b/],
    [{ cors: 'https://a.example' }, /cors/],
    [{ rateLimit: { mx: 2 } }, /rateLimit\/mx\b/],
    [{ rateLimit: { max: '2' } }, /rateLimit\/max\b/],
    [{ rateLimit: { max: -1 } }, /rateLimit\/max\b/],
    [{ rateLimit: { ban: -2 } }, /rateLimit\/ban: expected a number of at least -1, /],
    [{ rateLimit: { timeWindow: null } }, /rateLimit\/timeWindow\b/],
    [{ fileUpload: { maxSize: 'x' } }, /fileUpload\/maxSize\b/],
    [{ swagger: { tittle: 'x' } }, /swagger\/tittle\b/],
    [{ jwt: { secret: 'x'.repeat(32), aud: 'a' } }, /jwt\/aud\b/],
    [{ rbac: { scopes: {} } }, /rbac\/scopes\b/],
    [{ agents: 'echo' }, /agents/],
    [{ agents: [{}] }, /agents: Bad kind/],
    [{ agents: [null] }, /agents: Not a runnable/],
    [{ agents: [echo, echo] }, /agents: .*already registered/],
    [{ agents: { 'a/b': echo } }, /agents: Bad name/],
    [{ teams: [echo] }, /teams: "echo" is of kind agent/]
  ]
  for (const [options, says] of bad) {
    const app = Fastify()
    const registered = Promise.resolve(app.register(http, { prefix: '/api', ...options } as HttpOptions))
    await t.rejects(registered, { code: 'HTTP_ERR_BAD_OPTION', message: says }, JSON.stringify(options))
    await app.close().catch(() => {})
  }
})

t.test('every option of the CORS and rate limit plugins is accepted', async (t) => {
  const taken: HttpOptions[] = [
    {
      cors: {
        hook: 'onRequest',
        origin: ['https://a.example'],
        credentials: true,
        maxAge: 1,
        cacheControl: 'no-store',
        exposedHeaders: 'x-a',
        allowedHeaders: ['x-b'],
        methods: ['GET'],
        preflightContinue: false,
        preflight: true,
        optionsSuccessStatus: 200,
        strictPreflight: false,
        hideOptionsRoute: true,
        logLevel: 'warn'
      }
    },
    { cors: { delegator: async () => ({ origin: 'https://a.example' }) } },
    {
      rateLimit: {
        global: true,
        max: 5,
        timeWindow: '1 minute',
        hook: 'onRequest',
        cache: 10,
        allowList: ['10.0.0.1'],
        skipOnError: true,
        ban: 2,
        keyGenerator: () => 'all',
        ipv6Subnet: 64,
        continueExceeding: true,
        exponentialBackoff: false,
        enableDraftSpec: true,
        nameSpace: 'x',
        groupId: 'x',
        addHeaders: {},
        addHeadersOnExceeding: {},
        onBanReach() {},
        onExceeding() {},
        onExceeded() {}
      }
    },
    { rateLimit: { max: () => 5, timeWindow: async () => 1_000, allowList: () => false } },
    // The default of `ban`, as the plugin documents it.
    { rateLimit: { max: 5, ban: -1 } }
  ]
  for (const options of taken) {
    const app = Fastify()
    t.teardown(() => app.close())
    await t.resolves(Promise.resolve(app.register(http, options)), Object.keys(options).join())
  }
})

t.test('options are not mutated', async (t) => {
  const options: HttpOptions = Object.freeze({
    agents: Object.freeze([Object.freeze({ ...echo })]),
    limits: Object.freeze({ jsonDepth: 5 }),
    middleware: Object.freeze([])
  })
  const { post } = await buildApp(t, { options })
  t.equal((await post('/agents/echo/run', { input: 'x' })).status, 200)
})

t.test('named runnables: a list or an object, looked up before the registry', async (t) => {
  const team = scriptedRunnable([{ type: 'text', text: 'the named team' }], { kind: 'team', name: 'crew' })
  const { get, post, registry } = await buildApp(t, {
    options: { agents: { parrot: echo, echo }, teams: [team] }
  })
  registry.add(scriptedRunnable([{ type: 'text', text: 'the listed team' }], { kind: 'team', name: 'crew' }))
  registry.add(scriptedRunnable([], { kind: 'agent', name: 'other' }))
  t.match(await (await get('/registry')).json(), {
    agents: ['parrot', 'echo', 'other'],
    teams: ['crew'],
    workflows: []
  })
  t.match(await (await post('/teams/crew/run', { input: 'x' })).json(), { text: 'the named team' })
  t.match(await (await post('/agents/parrot/run', { input: 'x' })).json(), { text: 'x' })
  t.match(await (await get('/agents/parrot')).json(), { name: 'parrot', description: 'Says it again' })
  t.match(await (await get('/runs?name=parrot')).json(), { runs: [{ name: 'parrot' }] })
})

t.test('registry: false exposes only named runnables', async (t) => {
  const { get, registry } = await buildApp(t, { options: { registry: false, agents: [echo] } })
  registry.add(scriptedRunnable([]))
  t.match(await (await get('/registry')).json(), { agents: ['echo'], teams: [], workflows: [] })
  t.equal((await get('/agents/scripted')).status, 404)
})

t.test('the app’s registry is the default', async (t) => {
  const own = createRegistry()
  own.add(echo)
  const { get } = await buildApp(t, { options: { registry: own }, runnables: [scriptedRunnable([])] })
  t.match(await (await get('/registry')).json(), { agents: ['echo'], teams: [], workflows: [] })
})

t.test('middleware runs before every route, and may refuse', async (t) => {
  const seen: string[] = []
  const { get, post, origin } = await buildApp(t, {
    runnables: [echo],
    before: (app) => app.get('/host', async () => 'host'),
    options: {
      middleware: [
        (request, _reply, done) => {
          seen.push(`onRequest ${request.routeOptions.url}`)
          done()
        },
        {
          onRequest: async (request) => {
            if (request.headers['x-banned']) throw Object.assign(new Error('not you'), { statusCode: 403 })
            if (request.headers['x-teapot'])
              throw Object.assign(new Error('short'), { statusCode: 418, code: 'APP_ERR_TEAPOT' })
            if (request.headers['x-broken']) throw Object.assign(new Error('secret'), { statusCode: 502 })
          },
          preHandler: async (request) => void seen.push(`preHandler ${request.principal.sub}`)
        }
      ]
    }
  })
  await post('/agents/echo/run', { input: 'x' })
  await fetch(`${origin}/host`)
  t.strictSame(seen, ['onRequest /api/agents/:name/run', 'preHandler anonymous'])
  t.match(await (await get('/agents', { 'x-banned': '1' })).json(), {
    statusCode: 403,
    code: 'HTTP_ERR_BAD_REQUEST',
    message: 'not you'
  })
  t.match(await (await get('/agents', { 'x-teapot': '1' })).json(), {
    statusCode: 418,
    code: 'APP_ERR_TEAPOT'
  })
  t.match(await (await get('/agents', { 'x-broken': '1' })).json(), {
    statusCode: 502,
    code: 'HTTP_ERR_INTERNAL',
    message: 'Internal Server Error'
  })
})

t.test('every option has a description', async (t) => {
  for (const [name, schema] of Object.entries(HttpOptionsSchema.properties))
    t.type((schema as { description?: string }).description, 'string', name)
})
