import type { FastifyInstance } from 'fastify'
import { checkOrder, createOrder, EMPTY_ORDER, OrderFormSchema, type OrderForm } from '../order.ts'
import { confirmationPage } from '../pages/confirmation-page.ts'
import { SHOP } from '../pages/layout.ts'
import { orderPage } from '../pages/order-page.ts'
import { keepOrder, piecesOf, type Visitors } from '../visitors.ts'

/** The order form, and placed orders. Without anything in the cart the form leads to the cart. */
export function orderRoutes(app: FastifyInstance, visitors: Visitors): void {
  app.get('/place-order', (request, reply) => {
    const cart = visitors.find(request)?.cart
    if (cart === undefined || cart.pieces === 0) return reply.redirect(`${SHOP}/cart`, 303)
    const { total, pieces } = cart
    return reply.send(orderPage({ form: EMPTY_ORDER, faults: {}, today: today(), total, pieces }))
  })

  app.post<{ Body: OrderForm }>('/place-order', { schema: { body: OrderFormSchema } }, (request, reply) => {
    const visitor = visitors.find(request)
    if (visitor === undefined || visitor.cart.pieces === 0) return reply.redirect(`${SHOP}/cart`, 303)
    const [form, { total, pieces }] = [request.body, visitor.cart]
    const faults = checkOrder(form, today())
    if (Object.keys(faults).length > 0)
      return reply.code(422).send(orderPage({ form, faults, today: today(), total, pieces }))
    const order = createOrder(visitor.cart.take(), form)
    keepOrder(visitor, order)
    return reply.redirect(`${SHOP}/orders/${order.number}`, 303)
  })

  app.get<{ Params: { number: string } }>('/orders/:number', (request, reply) => {
    const order = visitors.find(request)?.orders.get(request.params.number)
    if (order === undefined) return reply.callNotFound()
    return reply.send(confirmationPage(order, piecesOf(visitors, request)))
  })
}

function today(): string {
  return new Date().toISOString().slice(0, 10)
}
