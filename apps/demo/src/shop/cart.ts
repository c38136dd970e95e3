import type { Catalogue, Offer, Product } from './catalogue.ts'

/** A product in a cart. */
export interface CartLine {
  product: Product
  offer: Offer
  quantity: number
}

/** Kinds of products in one cart. */
const MAX_LINES = 20

/** What a visitor wants to order. */
export class Cart {
  #lines: CartLine[] = []

  get lines(): readonly CartLine[] {
    return this.#lines
  }

  /** Number of pieces. */
  get pieces(): number {
    return this.#lines.reduce((sum, { quantity }) => sum + quantity, 0)
  }

  /** Cents. */
  get total(): number {
    return this.#lines.reduce((sum, { offer, quantity }) => sum + offer.price * quantity, 0)
  }

  /** Adds pieces of an offer. Returns a sentence that says why it cannot, undefined if it can. */
  add(product: Product, offer: Offer, quantity: number): string | undefined {
    const line = this.#lines.find((each) => each.offer === offer)
    const wanted = (line?.quantity ?? 0) + quantity
    const fault = faultOf(product, offer, wanted)
    if (fault !== undefined) return fault
    if (line === undefined && this.#lines.length >= MAX_LINES)
      return `A cart holds ${MAX_LINES} different products.`
    if (line === undefined) this.#lines.push({ product, offer, quantity })
    else line.quantity = wanted
    return undefined
  }

  /** Sets the pieces of an offer that is in the cart; 0 removes it. Returns a sentence that says why it cannot. */
  set(offer: Offer, quantity: number): string | undefined {
    const line = this.#lines.find((each) => each.offer === offer)
    if (line === undefined) return undefined
    const fault = faultOf(line.product, offer, quantity)
    if (fault !== undefined) return fault
    line.quantity = quantity
    this.#lines = this.#lines.filter((each) => each.quantity > 0)
    return undefined
  }

  /** Empties the cart, and returns what was in it. */
  take(): CartLine[] {
    const lines = this.#lines
    this.#lines = []
    return lines
  }
}

/** Finds what a form names: a product, and its size unless it has only one. */
export function findOffer(catalogue: Catalogue, id: string, size: string) {
  const product = catalogue.get(id)
  const offer = product?.offers.find((each) => (each.size ?? '') === size)
  return product === undefined || offer === undefined ? undefined : { product, offer }
}

/** The name of a product with its size. */
export function nameOf({ product, offer }: Pick<CartLine, 'product' | 'offer'>): string {
  return offer.size === undefined ? product.name : `${product.name}, size ${offer.size}`
}

function faultOf(product: Product, offer: Offer, quantity: number): string | undefined {
  if (quantity <= offer.stock) return undefined
  const name = nameOf({ product, offer })
  return offer.stock === 0 ? `${name} is sold out.` : `Only ${offer.stock} of ${name} are left.`
}
