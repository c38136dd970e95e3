import { Type, type Static } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { Cart, findOffer } from '../cart.ts'
import type { Catalogue } from '../catalogue.ts'
import { cartPage } from '../pages/cart-page.ts'
import { SHOP } from '../pages/layout.ts'
import { productPage } from '../pages/product-page.ts'
import type { Visitors } from '../visitors.ts'

const lineSchema = (minimum: number) =>
  Type.Object({
    product: Type.String({ maxLength: 100 }),
    size: Type.String({ maxLength: 20, default: '' }),
    quantity: Type.Integer({ minimum, maximum: 99, default: 1 })
  })
const AddedSchema = lineSchema(1)
const ChangedSchema = lineSchema(0)

/** The cart: what is put into it, and how many of it. */
export function cartRoutes(app: FastifyInstance, catalogue: Catalogue, visitors: Visitors): void {
  app.get('/cart', (request, reply) => reply.send(cartPage(visitors.find(request)?.cart ?? new Cart())))

  app.post<{ Body: Static<typeof AddedSchema> }>(
    '/cart',
    { schema: { body: AddedSchema } },
    (request, reply) => {
      const { product: id, size, quantity } = request.body
      const found = findOffer(catalogue, id, size)
      if (found === undefined) return reply.callNotFound()
      const { cart } = visitors.ensure(request, reply)
      const fault = cart.add(found.product, found.offer, quantity)
      if (fault === undefined) return reply.redirect(`${SHOP}/cart`, 303)
      return reply.code(422).send(productPage({ ...found, fault, pieces: cart.pieces }))
    }
  )

  app.post<{ Body: Static<typeof ChangedSchema> }>(
    '/cart/quantity',
    { schema: { body: ChangedSchema } },
    (request, reply) => {
      const { product: id, size, quantity } = request.body
      const found = findOffer(catalogue, id, size)
      if (found === undefined) return reply.callNotFound()
      const cart = visitors.find(request)?.cart ?? new Cart()
      const fault = cart.set(found.offer, quantity)
      if (fault === undefined) return reply.redirect(`${SHOP}/cart`, 303)
      return reply.code(422).send(cartPage(cart, fault))
    }
  )
}
