import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Cart } from './cart.ts'
import type { Order } from './order.ts'
import { SHOP } from './pages/layout.ts'

/** A browser that put something into its cart. */
export interface Visitor {
  cart: Cart
  /** By number, oldest first. */
  orders: Map<string, Order>
}

const COOKIE = 'shop'
const MAX_VISITORS = 1_000
const MAX_ORDERS = 50

/** The visitors of the shop by cookie, in memory: beyond 1,000 the one that was away longest is forgotten. */
export class Visitors {
  readonly #visitors = new Map<string, Visitor>()

  /** Finds the visitor of a request; undefined before it put anything into its cart. */
  find({ cookies }: FastifyRequest): Visitor | undefined {
    const id = cookies[COOKIE] ?? ''
    const visitor = this.#visitors.get(id)
    if (visitor === undefined) return undefined
    // The map is in the order of the last visits.
    this.#visitors.delete(id)
    this.#visitors.set(id, visitor)
    return visitor
  }

  /** Finds the visitor of a request, or makes it one by a cookie that only this shop gets. */
  ensure(request: FastifyRequest, reply: FastifyReply): Visitor {
    const known = this.find(request)
    if (known !== undefined) return known
    const [id, visitor] = [randomBytes(18).toString('base64url'), { cart: new Cart(), orders: new Map() }]
    this.#visitors.set(id, visitor)
    if (this.#visitors.size > MAX_VISITORS) this.#visitors.delete(this.#visitors.keys().next().value!)
    // Strict: a form on another site comes without it, and reaches no cart.
    void reply.setCookie(COOKIE, id, { path: SHOP, httpOnly: true, sameSite: 'strict' })
    return visitor
  }
}

/** The number of pieces in the cart of the visitor that sends a request. */
export function piecesOf(visitors: Visitors, request: FastifyRequest): number {
  return visitors.find(request)?.cart.pieces ?? 0
}

/** Keeps an order of a visitor; beyond 50 the oldest is forgotten. */
export function keepOrder({ orders }: Visitor, order: Order): void {
  orders.set(order.number, order)
  if (orders.size > MAX_ORDERS) orders.delete(orders.keys().next().value!)
}
