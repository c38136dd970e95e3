import { html, type Html } from '../html.ts'

/** Where the shop is in the app. */
export const SHOP = '/shop'
/** Its name, in every title. */
export const SHOP_NAME = 'Harbour Supplies'

/** What is particular to a page. */
export interface Page {
  title: string
  body: Html
  /** Pieces in the visitor's cart. */
  pieces: number
}

const LINKS = [
  [SHOP, 'Products'],
  [`${SHOP}/hours`, 'Opening hours'],
  [`${SHOP}/about`, 'About us']
] as const

/** A whole document: the page between the header and the footer of the shop. */
export function renderPage({ title, body, pieces }: Page): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title} · ${SHOP_NAME}</title>
        <link rel="stylesheet" href="${SHOP}/style.css" />
        <link rel="icon" href="${SHOP}/pictures/shop.svg" type="image/svg+xml" />
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
          <p class="name"><a href="${SHOP}">${SHOP_NAME}</a></p>
          <nav aria-label="Shop">
            <ul>
              ${LINKS.map(([path, label]) => html`<li><a href="${path}">${label}</a></li>`)}
              <li><a href="${SHOP}/cart">Cart (${pieces})</a></li>
            </ul>
          </nav>
        </header>
        <main id="main">${body}</main>
        <footer><p>${SHOP_NAME} is the shop of a demo: nothing is sold, and nothing is delivered.</p></footer>
      </body>
    </html>`.text
}

/** A page that says why there is nothing else. */
export function messagePage(title: string, message: string, pieces: number): string {
  const body = html`<h1>${title}</h1>
    <p>${message}</p>
    <p><a href="${SHOP}">See all products</a></p>`
  return renderPage({ title, body, pieces })
}
