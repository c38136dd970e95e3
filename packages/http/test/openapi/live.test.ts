import swagger from '@fastify/swagger'
import http, { generateOpenApi, type OpenApiDocument } from '@svc/http'
import registryPlugin, { createRegistry, globalRegistry } from '@svc/registry'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { echo } from '../helpers/build-app.ts'

const spec = async (app: FastifyInstance, path: string) => {
  const response = await app.inject(path)
  t.equal(response.statusCode, 200, path)
  t.match(response.headers, { 'content-type': /^application\/json/, 'cache-control': 'no-cache' })
  return response.json<OpenApiDocument>()
}
const namesIn = ({ paths }: OpenApiDocument, path: string) =>
  paths[path]?.['post']?.parameters?.find(({ name }) => name === 'name')?.schema.enum

t.test('the document follows the registry and equals that of generateOpenApi', async (t) => {
  const registry = createRegistry()
  registry.add(echo)
  const options = { prefix: '/api', registry, swagger: { title: 'Mine' } }
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(http, options)
  const run = '/api/agents/{name}/run'

  t.strictSame(namesIn(await spec(app, '/api/docs/spec.json'), run), ['echo'])
  registry.add({ ...echo, name: 'late' })
  const served = await spec(app, '/api/docs/spec.json')
  t.strictSame(namesIn(served, run), ['echo', 'late'])
  t.strictSame(await generateOpenApi(options), served)
  t.strictSame(await spec(app, '/api/docs/json'), served, 'the page’s copy')
  t.match((await app.inject('/api/docs/yaml')).body, /late/)
  registry.remove('agent', 'echo')
  t.strictSame(namesIn(await spec(app, '/api/docs/spec.json'), run), ['late'])
  t.strictSame((await generateOpenApi(options)).info.title, 'Mine')
  t.strictSame((await generateOpenApi(options, { title: 'Other' })).info.title, 'Other')
})

t.test('a removed named runnable leaves the document', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const authenticate = () => ({ sub: 'root', scopes: ['*'], claims: {} })
  await app.register(http, { registry: false, agents: [echo], authenticate, swagger: { protect: true } })
  t.strictSame(namesIn(await spec(app, '/docs/spec.json'), '/agents/{name}/run'), ['echo'])
  t.equal((await app.inject({ method: 'DELETE', url: '/admin/agents/echo' })).statusCode, 204)
  t.strictSame(namesIn(await spec(app, '/docs/spec.json'), '/agents/{name}/run'), undefined)
})

t.test('generateOpenApi ignores other runnables of the process', async (t) => {
  globalRegistry.add({ ...echo })
  t.teardown(() => globalRegistry.remove('agent', 'echo'))
  const registry = createRegistry()
  registry.add(echo)
  for (const options of [{ registry }, { registry: false as const, agents: [echo] }])
    t.strictSame(namesIn(await generateOpenApi(options), '/agents/{name}/run'), ['echo'])
})

t.test('names appear only if the document is open or guarded', async (t) => {
  const registry = createRegistry()
  registry.add(echo)
  const authenticate = ({ token }: { token?: string | undefined }) =>
    token === undefined ? null : { sub: token, scopes: [], claims: {} }
  for (const protect of [false, true]) {
    const app = Fastify()
    t.teardown(() => app.close())
    const options = { registry, authenticate, swagger: { protect } }
    await app.register(http, options)
    const url = { url: '/docs/spec.json', headers: { authorization: 'Bearer ann' } }
    const served = (await app.inject(url)).json<OpenApiDocument>()
    t.strictSame(namesIn(served, '/agents/{name}/run'), protect ? ['echo'] : undefined)
    t.equal(JSON.stringify(served).includes('echo'), protect)
    t.strictSame(await generateOpenApi(options), served)
  }
})

t.test('generateOpenApi accepts every option of the plugin', async (t) => {
  const registry = createRegistry()
  const middleware = () => t.fail('no request is made')
  const options = { registry, middleware, rateLimit: { max: 0 }, fileUpload: true, cors: true } as const
  const { paths } = await generateOpenApi(options)
  t.ok(paths['/agents']?.['get']?.responses['429'])
  t.ok(paths['/agents/{name}/run']?.['post']?.requestBody?.content['multipart/form-data'])
  t.notOk(paths['/livez']?.['get']?.responses['429'])
  const bad: object[] = [
    { middleware: 5 },
    { rateLimit: 5 },
    { unknown: 1 },
    { rbac: {} },
    { cors: { credentials: true } },
    { swagger: { protect: true } }
  ]
  for (const each of bad)
    await t.rejects(generateOpenApi({ registry, ...each }), { code: 'HTTP_ERR_BAD_OPTION' })
})

t.test('a registry without change events is read again', async (t) => {
  const registry = createRegistry()
  const silent = { ...registry, on: undefined } as unknown as typeof registry
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(http, { registry: silent, swagger: true })
  t.strictSame(namesIn(await spec(app, '/docs/spec.json'), '/agents/{name}/run'), undefined)
  registry.add(echo)
  t.strictSame(namesIn(await spec(app, '/docs/spec.json'), '/agents/{name}/run'), ['echo'])
})

t.test('a closed app leaves no listener on the registry', async (t) => {
  let listeners = 0
  const registry = createRegistry()
  const counted = {
    ...registry,
    on(...args: Parameters<typeof registry.on>) {
      listeners++
      const off = registry.on(...args)
      return () => {
        listeners--
        off()
      }
    }
  }
  await generateOpenApi({ registry: counted })
  t.equal(listeners, 0)
})

t.test('two instances in one app, and a host with a document of its own', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { info: { title: 'Host', version: '9' } } })
  await app.register(registryPlugin, { registry: createRegistry() })
  app.addSchema({ $id: 'Foreign', type: 'object', properties: {} })
  app.get('/own', { schema: { summary: 'Mine', response: { 200: { $ref: 'Foreign#' } } } }, () => ({}))
  await app.register(http, { prefix: '/a', registry: false, agents: [echo], swagger: true })
  await app.register(http, {
    prefix: '/b',
    registry: false,
    agents: [{ ...echo, name: 'other' }],
    swagger: { title: 'B' }
  })
  await app.ready()

  const a = await spec(app, '/a/docs/spec.json')
  const b = await spec(app, '/b/docs/spec.json')
  t.ok(Object.keys(a.paths).every((path) => path.startsWith('/a/')))
  t.ok(Object.keys(b.paths).every((path) => path.startsWith('/b/')))
  t.strictSame([a.info.title, b.info.title], ['Service API', 'B'])
  t.strictSame(namesIn(a, '/a/agents/{name}/run'), ['echo'])
  t.strictSame(namesIn(b, '/b/agents/{name}/run'), ['other'])
  t.strictSame(Object.keys(a.components.schemas), Object.keys(b.components.schemas))
  t.notOk(JSON.stringify(a).includes('Foreign'), 'what is the host’s stays the host’s')

  const host = app.swagger() as unknown as OpenApiDocument
  t.equal(host.info.title, 'Host')
  t.equal(host.paths['/own']?.['get']?.summary, 'Mine')
  t.ok(host.paths['/a/agents/{name}/run'], 'the host’s document tells of the routes too')
  t.notOk(
    Object.keys(host.paths).some((path) => path.includes('docs')),
    'and not of the pages'
  )
  t.notOk(app.hasDecorator('swaggerCSP'))
})
