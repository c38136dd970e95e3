import { formatPrice } from '../catalogue.ts'
import { html, type Child, type Html } from '../html.ts'
import { COUNTRIES, DELIVERIES, GIFT_WRAP, type OrderFaults, type OrderForm } from '../order.ts'
import { renderPage, SHOP } from './layout.ts'

/** The order form as it stands. */
export interface OrderPage {
  form: OrderForm
  faults: OrderFaults
  /** ISO date: the first day that may be chosen. */
  today: string
  /** Cents, of the products. */
  total: number
  pieces: number
}

type Name = keyof OrderForm

/** The order form. Fields with faults say so below them, and are listed above the form. */
export function orderPage({ form, faults, today, total, pieces }: OrderPage): string {
  const input = (name: Name, label: string, type: string, rest: Html = html``) =>
    field(
      name,
      label,
      faults[name],
      html`<input
        id="${name}"
        name="${name}"
        type="${type}"
        value="${form[name]}"
        ${rest}
        ${mark(name, faults)}
      />`
    )
  const body = html`<h1>Order</h1>
    <p>Your products cost ${formatPrice(total)}, without delivery.</p>
    ${summary(faults)}
    <form class="order" method="post" action="${SHOP}/place-order" novalidate>
      ${input('name', 'Name', 'text', html`autocomplete="name" required`)}
      ${input('email', 'E-mail', 'email', html`autocomplete="email" required`)}
      ${input('phone', 'Phone (optional)', 'tel', html`autocomplete="tel"`)}
      ${field(
        'address',
        'Address',
        faults.address,
        html`<textarea
          id="address"
          name="address"
          rows="3"
          autocomplete="street-address"
          ${mark('address', faults)}
        >
${form.address}</textarea>`
      )}
      ${field('country', 'Country', faults.country, countries(form.country, mark('country', faults)))}
      ${deliveries(form.delivery, faults)}
      ${input('date', 'Not before (optional)', 'date', html`min="${today}"`)}
      ${checkbox('gift', `Gift wrap, ${formatPrice(GIFT_WRAP)}`, form.gift, faults)}
      ${field(
        'note',
        'Note for us (optional)',
        faults.note,
        html`<textarea id="note" name="note" rows="2">${form.note}</textarea>`
      )}
      ${checkbox('terms', 'I accept the terms of sale', form.terms, faults)}
      <button type="submit">Place order</button>
    </form>`
  return renderPage({ title: 'Order', body, pieces })
}

function summary(faults: OrderFaults): Child {
  const entries = Object.entries(faults)
  if (entries.length === 0) return undefined
  return html`<div role="alert">
    <p>Please correct the form:</p>
    <ul>
      ${entries.map(([name, fault]) => html`<li><a href="#${name}">${fault}</a></li>`)}
    </ul>
  </div>`
}

function field(name: Name, label: string, fault: string | undefined, control: Html): Html {
  return html`<div class="field"><label for="${name}">${label}</label>${control}${faultOf(name, fault)}</div>`
}

function checkbox(name: Name, label: string, value: string, faults: OrderFaults): Html {
  return html`<div class="choice">
    <input
      id="${name}"
      name="${name}"
      type="checkbox"
      value="yes"
      ${value !== '' && html`checked`}
      ${mark(name, faults)}
    />
    <label for="${name}">${label}</label>${faultOf(name, faults[name])}
  </div>`
}

function countries(chosen: string, marks: Child): Html {
  return html`<select id="country" name="country" autocomplete="country-name" ${marks}>
    ${COUNTRIES.map((each) => html`<option ${each === chosen && html`selected`}>${each}</option>`)}
  </select>`
}

function deliveries(chosen: string, faults: OrderFaults): Html {
  const choice = ([value, { label, fee }]: [string, { label: string; fee: number }]) =>
    html`<div class="choice">
      <input
        id="delivery-${value}"
        name="delivery"
        type="radio"
        value="${value}"
        ${value === chosen && html`checked`}
      />
      <label for="delivery-${value}">${label}, ${fee === 0 ? 'free' : formatPrice(fee)}</label>
    </div>`
  return html`<fieldset id="delivery" ${mark('delivery', faults)}>
    <legend>Delivery</legend>
    ${Object.entries(DELIVERIES).map(choice)} ${faultOf('delivery', faults.delivery)}
  </fieldset>`
}

function mark(name: Name, faults: OrderFaults): Child {
  return faults[name] !== undefined && html`aria-invalid="true" aria-describedby="${name}-fault"`
}

function faultOf(name: Name, fault: string | undefined): Child {
  return fault && html`<p class="fault" id="${name}-fault">${fault}</p>`
}
