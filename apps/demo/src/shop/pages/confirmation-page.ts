import { formatPrice } from '../catalogue.ts'
import { html } from '../html.ts'
import { DELIVERIES, type Order } from '../order.ts'
import { priceRows } from './cart-page.ts'
import { renderPage, SHOP } from './layout.ts'

/** A placed order with its number. */
export function confirmationPage({ number, lines, form, total }: Order, pieces: number): string {
  const sum = html`<tr>
    <th scope="row" colspan="2">Total with delivery${form.gift !== '' && ' and gift wrap'}</th>
    <td>${formatPrice(total)}</td>
  </tr>`
  const details = [
    ['Order number', number],
    ['Name', form.name],
    ['E-mail', form.email],
    ['Phone', form.phone],
    ['Address', form.address],
    ['Country', form.country],
    ['Delivery', DELIVERIES[form.delivery as keyof typeof DELIVERIES].label],
    ['Not before', form.date],
    ['Note', form.note]
  ] as const
  const body = html`<h1>Thank you for your order</h1>
    <p role="status">Your order number is <strong>${number}</strong>.</p>
    <table>
      <caption>
        Products of the order
      </caption>
      ${priceRows(lines, sum)}
    </table>
    <dl>
      ${details
        .filter(([, value]) => value !== '')
        .map(
          ([term, value]) =>
            html`<dt>${term}</dt>
              <dd>${value}</dd>`
        )}
    </dl>
    <p><a href="${SHOP}">See all products</a></p>`
  return renderPage({ title: `Order ${number}`, body, pieces })
}
