import t, { type Test } from 'tap'
import { openShop, visitorOf } from '../helpers/shop-visit.ts'

const start = async (t: Test) => visitorOf(await openShop(t)).visit

/** The names of the products on a list. */
const namesOn = (html: string) => [...html.matchAll(/<h2><a [^>]*>([^<]*)</g)].map(([, name]) => name)

t.test('the list has pages, each product on one of them', async (t) => {
  const visit = await start(t)
  const seen: (string | undefined)[] = []
  let next: string | undefined = '/shop'
  while (next !== undefined) {
    const { status, html }: { status: number; html: string } = await visit(next)
    t.equal(status, 200, next)
    seen.push(...namesOn(html))
    next = /rel="next" href="([^"]*)"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
  }
  t.equal(seen.length, 25)
  t.strictSame(
    seen,
    [...new Set(seen)].toSorted((a, b) => (a! < b! ? -1 : 1)),
    'by name, none twice'
  )
  t.equal((await visit('/shop?page=6')).status, 404)
})

t.test('the search finds what has all words, in names, categories and descriptions', async (t) => {
  const visit = await start(t)
  for (const [query, names] of [
    ['q=green+tea', ['Genmaicha tea', 'Jasmine tea', 'Sencha tea']],
    ['q=CAFFEINE', ['Chamomile tea', 'Rooibos tea']],
    ['q=wool&category=Clothes', ['Fisherman jumper', 'Wool socks']],
    ['q=camping', ['Folding lantern', 'Two person tent', 'Wool blanket']],
    ['q=submarine', []],
    ['q=tea&category=None', []]
  ] as const)
    t.strictSame(namesOn((await visit(`/shop?${query}`)).html), names, query)
  const third = await visit('/shop?q=tea&page=3')
  t.match(third.text, /16 products, page 3 of 3/)
  t.ok(namesOn(third.html).includes('White peony tea'))
  t.match((await visit('/shop?q=submarine')).text, /No product fits/)
})

t.test('the price of a product with sizes is shown only for the size that is chosen', async (t) => {
  const visit = await start(t)
  const before = await visit('/shop/products/rain-jacket')
  t.notMatch(before.html, /€|Add to cart/)
  t.match((await visit('/shop?q=jacket')).text, /Rain jacket Clothes Choose a size for the price/)
  t.match(
    (await visit('/shop/products/rain-jacket?size=L')).text,
    /Price in size L: €94\.00 .*In stock: 2 .*Add to cart/
  )
  const soldOut = await visit('/shop/products/rain-jacket?size=XL')
  t.match(soldOut.text, /€99\.00 .*Sold out/)
  t.notMatch(soldOut.text, /Add to cart/)
  t.notMatch((await visit('/shop/products/rain-jacket?size=XXL')).html, /€/)
  t.match((await visit('/shop/products/enamel-mug')).text, /Price: €11\.50/)
})

t.test('a table has the hours, and the page about the shop how to reach it', async (t) => {
  const visit = await start(t)
  t.match((await visit('/shop/hours')).text, /Day Shop Pick-up counter .*Thursday 10:00–20:30 8:00–12:00/)
  t.match((await visit('/shop/about')).text, /Phone \+353 20 910 0174/)
})

t.test('what a visitor sends is shown as text', async (t) => {
  const visit = await start(t)
  const { html } = await visit(`/shop?q=${encodeURIComponent('"><script>alert(1)</script>')}`)
  t.match(html, 'value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"')
  t.notMatch(html, '<script')
})

t.test('what does not fit is a page that says so', async (t) => {
  const app = await openShop(t)
  const { visit } = visitorOf(app)
  for (const [url, status, text] of [
    ['/shop/nothing', 404, /no such page/],
    ['/shop/products/nothing', 404, /no such page/],
    ['/shop/orders/HS-123456', 404, /no such page/],
    ['/shop?page=0', 400, / page must be &gt;= 1\./],
    ['/shop?page=x', 400, / page must be integer\./],
    [`/shop?q=${'x'.repeat(101)}`, 400, /must NOT have more than 100 characters/]
  ] as const) {
    const page = await visit(url)
    t.equal(page.status, status, url)
    t.match(page.text, text, url)
    t.match(page.headers, { 'content-type': /^text\/html/ }, url)
  }
  t.equal((await visit('/shop/pictures/nothing.svg')).status, 404)
  const long = await visit('/shop/cart', { product: 'x'.repeat(20_000) })
  t.equal(long.status, 413)
  const json = await app.inject({ method: 'POST', url: '/shop/cart', payload: [] })
  t.equal(json.statusCode, 400)
})

t.test('pages run no scripts, and take nothing from elsewhere', async (t) => {
  const visit = await start(t)
  for (const url of ['/shop', '/shop/products/enamel-mug', '/shop/nothing', '/shop/cart']) {
    const { headers, html } = await visit(url)
    t.match(headers, {
      'content-security-policy': /^default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'/,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store'
    })
    t.notMatch(html, /<script|<style| style=| on\w+=|https?:/, url)
  }
  const picture = await visit('/shop/pictures/enamel-mug.svg')
  t.match(picture.headers, { 'content-type': /^image\/svg/, 'content-security-policy': /sandbox/ })
  t.match(await visit('/shop/style.css'), { status: 200, headers: { 'content-type': /^text\/css/ } })
})
