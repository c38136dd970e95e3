import { Validator } from '@seriousme/openapi-schema-validator'
import { createRegistry } from '@svc/registry'
import { Surfaces } from '@svc/registry/engine'
import { RunBodySchema } from '@svc/contract'
import Fastify from 'fastify'
import t from 'tap'
import { createOpenApi, type OpenApiSource } from '../../src/openapi/open-api.ts'
import { resolveSwagger } from '../../src/openapi/swagger-options.ts'
import { NameParamsSchema } from '../../src/schemas/parameters.ts'
import { errorReplies } from '../../src/openapi/describe-operation.ts'

const documentOf = async (source: Partial<OpenApiSource>) => {
  const app = Fastify()
  const exposed = new Surfaces().add({ surface: 'x', registry: createRegistry() })
  const settings = resolveSwagger(true)!
  const openApi = createOpenApi(app, { settings, exposed, ...source })
  const texts = { summary: 'x', tags: ['Agents'] }
  const response = errorReplies(404)
  app.post(
    '/agents/:name/run',
    { schema: { ...texts, operationId: 'a', params: NameParamsSchema, body: RunBodySchema, response } },
    () => ({})
  )
  app.get('/livez', { schema: { ...texts, operationId: 'b', security: [], response } }, () => ({}))
  await app.ready()
  const document = openApi.document()
  await app.close()
  const { valid, errors } = await new Validator().validate({ ...document })
  t.ok(valid, JSON.stringify(errors))
  return document
}

t.test('any of the schemes satisfies a guarded operation', async (t) => {
  const schemes = {
    bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    cookie: { type: 'apiKey', in: 'cookie', name: 'token' }
  }
  const { security, paths, components } = await documentOf({ secured: true, schemes })
  t.strictSame(components.securitySchemes, schemes)
  t.strictSame(security, [{ bearer: [] }, { cookie: [] }])
  const run = paths['/agents/{name}/run']?.['post']
  t.equal(run?.security, undefined, 'as the document says')
  t.strictSame(run?.responses['401'], { $ref: '#/components/responses/Unauthorized' })
  t.strictSame(run?.responses['403'], { $ref: '#/components/responses/Forbidden' })
  t.strictSame(paths['/livez']?.['get']?.security, [])
  t.notOk(paths['/livez']?.['get']?.responses['401'])
})

t.test('without authentication no security is documented', async (t) => {
  const { security, paths, components } = await documentOf({})
  t.strictSame(security, [])
  t.notOk(components.securitySchemes)
  t.notOk(paths['/agents/{name}/run']?.['post']?.responses['401'])
})

t.test('an authenticate without schemes still documents its refusals', async (t) => {
  const { security, paths } = await documentOf({ secured: true, schemes: {} })
  t.strictSame(security, [])
  t.strictSame(paths['/agents/{name}/run']?.['post']?.responses['401'], {
    $ref: '#/components/responses/Unauthorized'
  })
})

t.test('a rate limit is documented on every limited operation', async (t) => {
  const { paths } = await documentOf({ limited: true })
  t.strictSame(paths['/agents/{name}/run']?.['post']?.responses['429'], {
    $ref: '#/components/responses/TooManyRequests'
  })
  t.notOk(paths['/livez']?.['get']?.responses['429'])
})

t.test('forms are documented beside JSON', async (t) => {
  const { paths, components } = await documentOf({ uploads: true })
  const content = paths['/agents/{name}/run']?.['post']?.requestBody?.content ?? {}
  t.strictSame(Object.keys(content), ['application/json', 'multipart/form-data'])
  t.strictSame(content['multipart/form-data']?.schema, { $ref: '#/components/schemas/RunForm' })
  const { properties = {} } = components.schemas['RunForm'] ?? {}
  t.match(properties['files'], { type: 'array', items: { type: 'string', format: 'binary' } })
  t.strictSame(properties['input']?.['type'], 'string')
  t.ok(properties['sessionId'] && properties['onDisconnect'])
})
