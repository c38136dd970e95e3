import Fastify, { type FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { PRODUCTS } from '../../src/shop/products.ts'
import type { Product } from '../../src/shop/catalogue.ts'
import { shop } from '../../src/shop/shop.ts'

/** The shop alone in an app. */
export async function openShop(t: Test, products: readonly Product[] = PRODUCTS): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(shop, { prefix: '/shop', products })
  t.teardown(() => app.close())
  return app
}

/** A page as the visitor got it. */
export interface Visited {
  status: number
  /** Where it was sent to. */
  location: string | undefined
  headers: Record<string, unknown>
  html: string
  /** What a reader sees of it, on one line. */
  text: string
}

/** A browser of its own: it keeps the cookie of the shop, and sends forms. */
export function visitorOf(app: FastifyInstance) {
  let cookie = ''
  const visit = async (url: string, form?: Record<string, string>): Promise<Visited> => {
    const { statusCode, headers, body } = await app.inject({
      method: form === undefined ? 'GET' : 'POST',
      url,
      headers: {
        ...(cookie && { cookie }),
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' })
      },
      ...(form && { payload: String(new URLSearchParams(form)) })
    })
    const set = headers['set-cookie']
    if (typeof set === 'string') cookie = set.split(';')[0]!
    const text = body
      .replaceAll(/<(?:head|style)>[^]*?<\/(?:head|style)>|<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
    return { status: statusCode, location: headers.location, headers, html: body, text }
  }
  return { visit, cookie: () => cookie }
}

/** An order form that may be sent as it is. */
export const ORDER = {
  name: 'Ada Lovelace',
  email: 'ada@example.org',
  address: '1 Byron Street, Galway',
  country: 'Ireland',
  delivery: 'post',
  terms: 'yes'
}
