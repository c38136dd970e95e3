import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import cookie from '@fastify/cookie'
import formBody from '@fastify/formbody'
import type { FastifyError, FastifyInstance } from 'fastify'
import { Catalogue, type Product } from './catalogue.ts'
import { messagePage } from './pages/layout.ts'
import { pictureOf } from './picture.ts'
import { browseRoutes } from './routes/browse-routes.ts'
import { cartRoutes } from './routes/cart-routes.ts'
import { orderRoutes } from './routes/order-routes.ts'
import { piecesOf, Visitors } from './visitors.ts'

/** Options of the shop. */
export interface ShopOptions {
  products: readonly Product[]
}

/** Bytes of a form. */
const BODY_LIMIT = 16_384
const STYLE = readFileSync(resolve(import.meta.dirname, '../../shop/style.css'), 'utf8')
const HTML = 'text/html; charset=utf-8'
const HEADERS = {
  'content-type': HTML,
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  // The header of each page has the visitor's cart.
  'cache-control': 'no-store'
}
// Opened by itself, a picture is a document with a style of its own.
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

/** A small shop of several pages, rendered by the server and without scripts. Carts and orders are kept in memory. */
export async function shop(app: FastifyInstance, { products }: ShopOptions): Promise<void> {
  const catalogue = new Catalogue(products)
  const visitors = new Visitors()
  await app.register(cookie)
  await app.register(formBody, { bodyLimit: BODY_LIMIT })
  app.addHook('onRequest', async (_request, reply) => void reply.headers(HEADERS))
  app.setSchemaErrorFormatter(
    ([fault]) =>
      new Error(`${fault?.instancePath.slice(1) || 'The form'} ${fault?.message ?? 'is not valid'}`)
  )
  app.setErrorHandler((err: FastifyError, request, reply) => {
    const { statusCode = 500, message } = err
    // Failures of the server belong to the app, which logs them.
    if (statusCode >= 500) throw err
    return reply
      .code(statusCode)
      .type(HTML)
      .send(messagePage('That did not work', `${message}.`, piecesOf(visitors, request)))
  })
  app.setNotFoundHandler((request, reply) =>
    reply
      .code(404)
      .send(messagePage('Page not found', 'This shop has no such page.', piecesOf(visitors, request)))
  )

  browseRoutes(app, catalogue, visitors)
  cartRoutes(app, catalogue, visitors)
  orderRoutes(app, visitors)
  app.get('/style.css', (_request, reply) => reply.type('text/css; charset=utf-8').send(STYLE))
  app.get<{ Params: { id: string } }>('/pictures/:id.svg', ({ params: { id } }, reply) => {
    const product = catalogue.get(id)
    if (product === undefined && id !== 'shop') return reply.callNotFound()
    return reply
      .type('image/svg+xml')
      .header('content-security-policy', PICTURE_POLICY)
      .send(pictureOf(id, product?.category ?? ''))
  })
}
