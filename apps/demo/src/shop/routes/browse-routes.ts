import { Type, type Static } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { Catalogue } from '../catalogue.ts'
import { listPage } from '../pages/list-page.ts'
import { productPage } from '../pages/product-page.ts'
import { aboutPage, hoursPage } from '../pages/visit-pages.ts'
import { piecesOf, type Visitors } from '../visitors.ts'

const ListQuerySchema = Type.Object({
  q: Type.String({ maxLength: 100, default: '' }),
  category: Type.String({ maxLength: 50, default: '' }),
  page: Type.Integer({ minimum: 1, default: 1 })
})
const ProductQuerySchema = Type.Object({ size: Type.String({ maxLength: 20, default: '' }) })

/** The pages that only show something. */
export function browseRoutes(app: FastifyInstance, catalogue: Catalogue, visitors: Visitors): void {
  app.get<{ Querystring: Static<typeof ListQuerySchema> }>(
    '/',
    { schema: { querystring: ListQuerySchema } },
    (request, reply) => {
      const { q: query, category, page } = request.query
      const found = catalogue.search(query, category, page)
      if (found === undefined) return reply.callNotFound()
      const { categories } = catalogue
      return reply.send(listPage({ query, category, categories, found, pieces: piecesOf(visitors, request) }))
    }
  )
  app.get<{ Params: { id: string }; Querystring: Static<typeof ProductQuerySchema> }>(
    '/products/:id',
    { schema: { querystring: ProductQuerySchema } },
    (request, reply) => {
      const product = catalogue.get(request.params.id)
      if (product === undefined) return reply.callNotFound()
      const { size } = request.query
      const offer = product.offers.find((each) => (each.size ?? '') === size)
      return reply.send(productPage({ product, offer, pieces: piecesOf(visitors, request) }))
    }
  )
  app.get('/hours', (request, reply) => reply.send(hoursPage(piecesOf(visitors, request))))
  app.get('/about', (request, reply) => reply.send(aboutPage(piecesOf(visitors, request))))
}
