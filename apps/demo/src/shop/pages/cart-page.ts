import { nameOf, type Cart, type CartLine } from '../cart.ts'
import { formatPrice } from '../catalogue.ts'
import { html, type Html } from '../html.ts'
import { renderPage, SHOP } from './layout.ts'

/** The cart, with a form for each line. `fault` says why a quantity could not be changed. */
export function cartPage(cart: Pick<Cart, 'lines' | 'pieces' | 'total'>, fault?: string): string {
  const body = html`<h1>Cart</h1>
    ${fault && html`<p role="alert">${fault}</p>`}
    ${
      cart.lines.length === 0
        ? html`<p>Your cart is empty.</p>
            <p><a href="${SHOP}">See all products</a></p>`
        : table(cart)
    }`
  return renderPage({ title: 'Cart', body, pieces: cart.pieces })
}

/** Products with quantities and prices, as a table's rows. */
export function priceRows(lines: readonly CartLine[], total: Html): Html {
  return html`<thead>
      <tr>
        <th scope="col">Product</th>
        <th scope="col">Quantity</th>
        <th scope="col">Price</th>
      </tr>
    </thead>
    <tbody>
      ${lines.map(
        (line) =>
          html`<tr>
            <th scope="row">${nameOf(line)}</th>
            <td>${line.quantity}</td>
            <td>${formatPrice(line.offer.price * line.quantity)}</td>
          </tr>`
      )}
    </tbody>
    <tfoot>
      ${total}
    </tfoot>`
}

function table({ lines, total }: Pick<Cart, 'lines' | 'total'>): Html {
  const sum = html`<tr>
    <th scope="row" colspan="2">Total without delivery</th>
    <td>${formatPrice(total)}</td>
  </tr>`
  return html`<table>
      <caption>
        Products in your cart
      </caption>
      ${priceRows(lines, sum)}
    </table>
    <h2>Change quantities</h2>
    ${lines.map(quantityForm)}
    <p><a class="button" href="${SHOP}/place-order">Continue to the order</a></p>`
}

function quantityForm(line: CartLine, at: number): Html {
  const { product, offer, quantity } = line
  return html`<form method="post" action="${SHOP}/cart/quantity">
    <input type="hidden" name="product" value="${product.id}" />
    <input type="hidden" name="size" value="${offer.size ?? ''}" />
    <div class="field">
      <label for="quantity-${at}">Quantity of ${nameOf(line)}</label>
      <input
        id="quantity-${at}"
        name="quantity"
        type="number"
        min="0"
        max="${offer.stock}"
        value="${quantity}"
        required
      />
    </div>
    <button type="submit">Change</button>
  </form>`
}
