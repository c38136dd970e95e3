/** A size of a product, or the product itself if it has only one. */
export interface Offer {
  /** Undefined: the product's only offer. */
  size?: string
  /** Cents. */
  price: number
  /** Number of pieces that one visitor may order; 0: sold out. */
  stock: number
}

/** Something that the shop sells. */
export interface Product {
  /** The last segment of its address; unique. */
  id: string
  name: string
  category: string
  description: string
  /** At least one. With several the price depends on the size. */
  offers: readonly Offer[]
}

/** A page of a search. */
export interface Found {
  products: readonly Product[]
  /** Of all pages. */
  total: number
  page: number
  /** At least 1. */
  pages: number
}

const PAGE_SIZE = 6

/** The products of the shop, in the order of their names. */
export class Catalogue {
  readonly categories: readonly string[]
  readonly #products: ReadonlyMap<string, Product>

  constructor(products: readonly Product[]) {
    const sorted = products.toSorted((a, b) => a.name.localeCompare(b.name, 'en'))
    this.#products = new Map(sorted.map((product) => [product.id, product]))
    this.categories = [...new Set(sorted.map(({ category }) => category))].toSorted()
  }

  get(id: string): Product | undefined {
    return this.#products.get(id)
  }

  /** Finds products in which each word of the query begins a word, by name; undefined: there is no such page. */
  search(query: string, category: string, page: number): Found | undefined {
    const words = wordsOf(query)
    const found = [...this.#products.values()].filter((product) => {
      if (category !== '' && product.category !== category) return false
      const own = wordsOf(`${product.name} ${product.category} ${product.description}`)
      return words.every((word) => own.some((each) => each.startsWith(word)))
    })
    const pages = Math.max(1, Math.ceil(found.length / PAGE_SIZE))
    if (page > pages) return undefined
    const products = found.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE)
    return { products, total: found.length, page, pages }
  }
}

/** Formats cents as the shop shows prices. */
export function formatPrice(cents: number): string {
  return `€${(cents / 100).toFixed(2)}`
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
