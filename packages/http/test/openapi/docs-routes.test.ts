import { createRegistry } from '@svc/registry'
import Fastify from 'fastify'
import t from 'tap'
import { createExposed } from '../../src/exposed.ts'
import { docsRoutes } from '../../src/openapi/docs-routes.ts'
import { createOpenApi } from '../../src/openapi/open-api.ts'
import { resolveSwagger } from '../../src/openapi/swagger-options.ts'

t.test('a guard stands before the page, its files and the document', async (t) => {
  for (const protect of [true, false]) {
    const app = Fastify()
    t.teardown(() => app.close())
    const settings = resolveSwagger({ protect })!
    const exposed = createExposed({}, createRegistry())
    await app.register(
      async (scope) => {
        const openApi = await createOpenApi(scope, { settings, exposed, registry: false })
        await docsRoutes(scope, openApi, settings, async ({ headers }) => {
          if (headers.authorization === undefined) throw Object.assign(new Error('no'), { statusCode: 401 })
        })
      },
      { prefix: '/api' }
    )
    for (const path of [
      '/',
      '',
      '/spec.json',
      '/json',
      '/yaml',
      '/static/swagger-ui.css',
      '/static/index.html'
    ]) {
      const url = `/api/docs${path}`
      const open = await app.inject(url)
      t.equal(open.statusCode === 401, protect, `${url} without a token, protect: ${protect}`)
      const { statusCode } = await app.inject({ url, headers: { authorization: 'x' } })
      t.ok(statusCode === 200 || statusCode === 302, `${url} with a token`)
      const head = await app.inject({ method: 'HEAD', url })
      t.equal(head.statusCode === 401, protect, `HEAD ${url}`)
    }
  }
})
