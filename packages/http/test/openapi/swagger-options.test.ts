import http, { errors, type HttpOptions } from '@svc/http'
import Fastify from 'fastify'
import t from 'tap'

const { code } = new errors.HTTP_ERR_BAD_OPTION('')

t.test('invalid options are named', async (t) => {
  const bad: [unknown, RegExp][] = [
    ['yes', /swagger: expected a boolean or an object, got a string$/],
    [{ tittle: 'x' }, /swagger\/tittle: no such option$/],
    [{ title: 1 }, /swagger.*title/],
    [{ title: '' }, /swagger.*title/],
    [{ docsPath: 'docs' }, /swagger.*docsPath/],
    [{ docsPath: '/' }, /swagger.*docsPath/],
    [{ docsPath: '/docs/' }, /swagger.*docsPath/],
    [{ specPath: '/:name' }, /swagger.*specPath/],
    [{ specPath: '/a*' }, /swagger.*specPath/],
    [{ specPath: '/docs' }, /swagger\/specPath.*"\/docs"/],
    [{ specPath: '/docs/yaml' }, /swagger\/specPath/],
    [{ specPath: '/docs/static/x.json' }, /swagger\/specPath/],
    [{ routePrefix: 'v1' }, /swagger.*routePrefix/],
    [{ servers: [] }, /swagger.*servers/],
    [{ servers: [{ url: 'https://{host}/' }] }, /swagger.*servers/],
    [{ servers: [{ url: '/', variables: {} }] }, /swagger.*servers/],
    [{ protect: 'yes' }, /swagger.*protect/],
    [{ protect: true }, /swagger\/protect.*no authentication/],
    [{ enabled: 1 }, /swagger.*enabled/]
  ]
  for (const [swagger, message] of bad) {
    const app = Fastify()
    const options = { swagger } as HttpOptions
    await t.rejects(async () => app.register(http, options), { code, message }, JSON.stringify(swagger))
    await app.close()
  }
})

t.test('served only when enabled', async (t) => {
  const cases: [HttpOptions['swagger'] | undefined, number][] = [
    [undefined, 404],
    [false, 404],
    [{ enabled: false }, 404],
    [true, 200],
    [{}, 200],
    [{ enabled: true }, 200]
  ]
  for (const [swagger, status] of cases) {
    const app = Fastify()
    await app.register(http, { prefix: '/api', registry: false, ...(swagger !== undefined && { swagger }) })
    for (const path of ['/api/docs/', '/api/docs/spec.json'])
      t.equal((await app.inject(path)).statusCode, status, `${JSON.stringify(swagger)} ${path}`)
    await app.close()
  }
})

t.test('custom paths', async (t) => {
  const app = Fastify()
  await app.register(http, { registry: false, swagger: { docsPath: '/help/api', specPath: '/openapi.json' } })
  t.equal((await app.inject('/help/api/')).statusCode, 200)
  t.equal((await app.inject('/openapi.json')).json().info.title, 'Service API')
  t.equal((await app.inject('/docs')).statusCode, 404)
  await app.close()

  const same = Fastify()
  await same.register(http, { registry: false, swagger: { specPath: '/docs/json' } })
  t.equal((await same.inject('/docs/json')).json().openapi, '3.0.3', 'the page’s own copy')
  await same.close()
})
