import { formatPrice, type Offer, type Product } from '../catalogue.ts'
import { html, type Html } from '../html.ts'
import { renderPage, SHOP } from './layout.ts'

/** A product, and the size that the visitor chose. */
export interface ProductPage {
  product: Product
  /** Undefined if the product has several, and none is chosen. */
  offer: Offer | undefined
  /** Why something could not be put into the cart. */
  fault?: string
  pieces: number
}

/** One product. The price of one with several sizes is shown only for the size that is chosen. */
export function productPage({ product, offer, fault, pieces }: ProductPage): string {
  const { id, name, category, description, offers } = product
  const body = html`<nav aria-label="Breadcrumb">
      <a href="${SHOP}?${String(new URLSearchParams({ category }))}">${category}</a>
    </nav>
    <article class="product">
      <img src="${SHOP}/pictures/${id}.svg" alt="" width="240" height="240" />
      <div>
        <h1>${name}</h1>
        <p>${description}</p>
        ${offers.length > 1 && sizeForm(product, offer)} ${fault && html`<p role="alert">${fault}</p>`}
        ${offer !== undefined && offerOf(product, offer)}
      </div>
    </article>`
  return renderPage({ title: name, body, pieces })
}

function sizeForm({ id, offers }: Product, chosen: Offer | undefined): Html {
  const option = (offer: Offer) =>
    html`<option value="${offer.size}" ${offer === chosen && html`selected`}>${offer.size}</option>`
  return html`<form method="get" action="${SHOP}/products/${id}">
    <div class="field">
      <label for="size">Size</label>
      <select id="size" name="size" required>
        <option value="">Choose</option>
        ${offers.map(option)}
      </select>
    </div>
    <button type="submit">Show price</button>
  </form>`
}

function offerOf(product: Product, { size, price, stock }: Offer): Html {
  const priceLine = html`<p class="price">
    Price${size !== undefined && ` in size ${size}`}: <strong>${formatPrice(price)}</strong>
  </p>`
  if (stock === 0)
    return html`${priceLine}
      <p>Sold out</p>`
  return html`${priceLine}
    <p>In stock: ${stock}</p>
    <form method="post" action="${SHOP}/cart">
      <input type="hidden" name="product" value="${product.id}" />
      <input type="hidden" name="size" value="${size ?? ''}" />
      <div class="field">
        <label for="quantity">Quantity</label>
        <input id="quantity" name="quantity" type="number" min="1" max="${stock}" value="1" required />
      </div>
      <button type="submit">Add to cart</button>
    </form>`
}
