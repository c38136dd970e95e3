import { html } from '../html.ts'
import { renderPage, SHOP, SHOP_NAME } from './layout.ts'

const HOURS = [
  ['Monday', 'closed', 'closed'],
  ['Tuesday', '10:00–18:00', '8:00–12:00'],
  ['Wednesday', '10:00–18:00', '8:00–12:00'],
  ['Thursday', '10:00–20:30', '8:00–12:00'],
  ['Friday', '10:00–18:00', '8:00–16:00'],
  ['Saturday', '9:00–14:00', 'closed'],
  ['Sunday', 'closed', 'closed']
] as const

/** When the shop is open, as a table. */
export function hoursPage(pieces: number): string {
  const body = html`<h1>Opening hours</h1>
    <table>
      <caption>
        Hours of the week
      </caption>
      <thead>
        <tr>
          <th scope="col">Day</th>
          <th scope="col">Shop</th>
          <th scope="col">Pick-up counter</th>
        </tr>
      </thead>
      <tbody>
        ${HOURS.map(
          ([day, shop, counter]) =>
            html`<tr>
              <th scope="row">${day}</th>
              <td>${shop}</td>
              <td>${counter}</td>
            </tr>`
        )}
      </tbody>
    </table>
    <p>On public holidays we are closed.</p>`
  return renderPage({ title: 'Opening hours', body, pieces })
}

/** Who runs the shop, and how to reach it. */
export function aboutPage(pieces: number): string {
  const body = html`<h1>About us</h1>
    <p>
      ${SHOP_NAME} has sold tea, and what goes with tea out of doors, since 1974. It is run by the third
      generation of the family.
    </p>
    <h2>Contact</h2>
    <dl>
      <dt>Phone</dt>
      <dd><a href="tel:+353209100174">+353 20 910 0174</a></dd>
      <dt>E-mail</dt>
      <dd><a href="mailto:hello@harbour.example">hello@harbour.example</a></dd>
      <dt>Address</dt>
      <dd>12 Quay Street, Galway</dd>
    </dl>
    <h2>Returns</h2>
    <p>Bring back within 30 days what you do not like. See our <a href="${SHOP}/hours">opening hours</a>.</p>`
  return renderPage({ title: 'About us', body, pieces })
}
