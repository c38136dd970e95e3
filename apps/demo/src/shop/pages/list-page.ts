import { formatPrice, type Found, type Product } from '../catalogue.ts'
import { html, type Html } from '../html.ts'
import { renderPage, SHOP } from './layout.ts'

/** What was searched for, and where. */
export interface ListPage {
  query: string
  /** Empty: in all of them. */
  category: string
  categories: readonly string[]
  found: Found
  pieces: number
}

/** The list of products, with the search form above it and the other pages below. */
export function listPage(page: ListPage): string {
  const { query, category, found, pieces } = page
  const title = query === '' && category === '' ? 'Products' : 'Search results'
  const body = html`<h1>${title}</h1>
    ${searchForm(page)}
    <p role="status">${summarize(found)}</p>
    <ul class="products">
      ${found.products.map(listItem)}
    </ul>
    ${found.pages > 1 && pageLinks(found, (to) => addressOf(query, category, to))}`
  return renderPage({ title: found.page === 1 ? title : `${title}, page ${found.page}`, body, pieces })
}

function priceOf({ offers }: Product): string {
  return offers.length === 1 ? formatPrice(offers[0]!.price) : 'Choose a size for the price'
}

function searchForm({ query, category, categories }: ListPage): Html {
  const option = (value: string, label: string) =>
    html`<option value="${value}" ${value === category && html`selected`}>${label}</option>`
  return html`<form role="search" method="get" action="${SHOP}">
    <div class="field">
      <label for="q">Search words</label>
      <input id="q" name="q" type="search" maxlength="100" value="${query}" />
    </div>
    <div class="field">
      <label for="category">Category</label>
      <select id="category" name="category">
        ${option('', 'All categories')}${categories.map((each) => option(each, each))}
      </select>
    </div>
    <button type="submit">Search</button>
  </form>`
}

function summarize({ total, page, pages }: Found): string {
  if (total === 0) return 'No product fits. Try fewer or other words.'
  const count = total === 1 ? '1 product' : `${total} products`
  return pages === 1 ? count : `${count}, page ${page} of ${pages}`
}

function listItem(product: Product): Html {
  const { id, name, category, offers } = product
  return html`<li>
    <img src="${SHOP}/pictures/${id}.svg" alt="" width="96" height="96" />
    <h2><a href="${SHOP}/products/${id}">${name}</a></h2>
    <p>${category}</p>
    <p class="price">${priceOf(product)}</p>
    ${offers.every(({ stock }) => stock === 0) && html`<p>Sold out</p>`}
  </li>`
}

function pageLinks({ page, pages }: Found, to: (page: number) => string): Html {
  const numbers = Array.from({ length: pages }, (_, at) => at + 1)
  return html`<nav aria-label="Pages">
    <ul class="pages">
      ${page > 1 && html`<li><a rel="prev" href="${to(page - 1)}">Previous page</a></li>`}
      ${numbers.map(
        (each) =>
          html`<li><a href="${to(each)}" ${each === page && html`aria-current="page"`}>Page ${each}</a></li>`
      )}
      ${page < pages && html`<li><a rel="next" href="${to(page + 1)}">Next page</a></li>`}
    </ul>
  </nav>`
}

function addressOf(query: string, category: string, page: number): string {
  return `${SHOP}?${String(new URLSearchParams({ q: query, category, page: String(page) }))}`
}
