import { HtmlValidate } from 'html-validate'
import t from 'tap'
import { openShop, ORDER, visitorOf } from '../helpers/shop-visit.ts'

const validator = new HtmlValidate({
  extends: ['html-validate:document', 'html-validate:a11y'],
  // The style sheet is the shop's own.
  rules: { 'require-sri': 'off' }
})

t.test('every page is valid and accessible HTML', async (t) => {
  const { visit } = visitorOf(await openShop(t))
  await visit('/shop/cart', { product: 'enamel-mug' })
  await visit('/shop/cart', { product: 'rain-jacket', size: 'M' })
  const pages = new Map<string, string>()
  const see = async (url: string, form?: Record<string, string>) => {
    const { html, location } = await visit(url, form)
    if (location === undefined) pages.set(form === undefined ? url : `${url} with faults`, html)
    else await see(location)
  }
  for (const url of ['/shop', '/shop?q=tea&page=2', '/shop?q=submarine', '/shop/products/enamel-mug'])
    await see(url)
  for (const url of ['/shop/products/rain-jacket', '/shop/products/rain-jacket?size=M']) await see(url)
  for (const url of ['/shop/cart', '/shop/place-order', '/shop/hours', '/shop/about', '/shop/nothing'])
    await see(url)
  await see('/shop/place-order', {})
  await see('/shop/place-order', ORDER)
  t.equal(pages.size, 13)
  for (const [url, html] of pages) {
    const { results } = await validator.validateString(html)
    const faults = results.flatMap(({ messages }) =>
      messages.map(
        ({ ruleId, message, line }) => `${ruleId}: ${message} in ${html.split('\n')[line - 1]?.trim()}`
      )
    )
    t.strictSame(faults, [], url)
  }
})
