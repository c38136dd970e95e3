import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import t from 'tap'
import { describeRoutes, jsonReply } from '../../src/openapi/describe-routes.ts'

t.test('routes become operations, their titled schemas components', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const document = describeRoutes(app, {
    title: 'A',
    version: '1.0.0',
    schemes: { bearer: { type: 'http', scheme: 'bearer' } }
  })
  const Thing = Type.Object({ a: Type.String() }, { title: 'Thing' })
  app.post(
    '/things/:id',
    {
      schema: {
        operationId: 'change',
        summary: 'Changes one',
        tags: ['Things'],
        params: Type.Object({ id: Type.String() }),
        querystring: Type.Object({ deep: Type.Optional(Type.String()) }),
        body: Thing,
        response: {
          200: jsonReply('It', Thing),
          204: Type.Null({ description: 'None' }),
          '4xx': Thing
        }
      }
    },
    async () => ({ a: '' })
  )
  app.get('/hidden', { schema: { hide: true } }, async () => '')
  await app.ready()
  const made = document()
  t.equal(document(), made)
  t.match(made, {
    openapi: '3.0.3',
    security: [{ bearer: [] }],
    components: { securitySchemes: { bearer: { type: 'http' } } }
  })
  t.same(Object.keys(made.paths), ['/things/{id}'])
  t.match(made.paths['/things/{id}']!['post'], {
    operationId: 'change',
    parameters: [
      { name: 'id', in: 'path', required: true },
      { name: 'deep', in: 'query', required: false }
    ],
    requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } } },
    responses: { 204: { description: 'None' }, '4XX': {} }
  })
})
