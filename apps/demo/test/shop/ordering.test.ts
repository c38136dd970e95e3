import t from 'tap'
import { openShop, ORDER, visitorOf } from '../helpers/shop-visit.ts'

t.test('from the product to the number of the order', async (t) => {
  const { visit, cookie } = visitorOf(await openShop(t))
  t.match((await visit('/shop/cart')).text, /Your cart is empty/)
  t.equal(cookie(), '', 'who only looks gets no cookie')
  const added = await visit('/shop/cart', { product: 'enamel-mug', quantity: '2' })
  t.match(added, { status: 303, location: '/shop/cart' })
  t.match(added.headers, { 'set-cookie': /^shop=\S{24}; Path=\/shop; HttpOnly; SameSite=Strict$/ })
  await visit('/shop/cart', { product: 'rain-jacket', size: 'L', quantity: '1' })
  const cart = await visit('/shop/cart')
  t.match(
    cart.text,
    /Cart \(3\).*Enamel mug 2 €23\.00 Rain jacket, size L 1 €94\.00 .*Total without delivery €117\.00/
  )

  const { location } = await visit('/shop/place-order', { ...ORDER, gift: 'yes', note: '<b>ring</b> twice' })
  t.match(location, /^\/shop\/orders\/HS-\d{6}$/)
  const { text, html } = await visit(location!)
  t.match(text, new RegExp(`Your order number is ${location!.slice(-9)}`))
  t.match(text, /Total with delivery and gift wrap €124\.90/)
  t.match(text, /Name Ada Lovelace .*Address 1 Byron Street, Galway .*Delivery By post, 3 to 5 days/)
  t.match(html, '&lt;b&gt;ring&lt;/b&gt; twice')
  t.match((await visit('/shop/cart')).text, /Your cart is empty/)
  t.match(
    await visit('/shop/place-order', ORDER),
    { status: 303, location: '/shop/cart' },
    'sent twice, ordered once'
  )
})

t.test('an order is seen by its visitor only', async (t) => {
  const app = await openShop(t)
  const [ada, eve] = [visitorOf(app), visitorOf(app)]
  await ada.visit('/shop/cart', { product: 'tea-atlas' })
  const { location } = await ada.visit('/shop/place-order', ORDER)
  await eve.visit('/shop/cart', { product: 'tea-atlas' })
  t.equal((await eve.visit(location!)).status, 404)
  t.equal((await visitorOf(app).visit(location!)).status, 404)
  t.equal((await ada.visit(location!)).status, 200)
})

t.test('quantities change, and stay within the stock', async (t) => {
  const { visit } = visitorOf(await openShop(t))
  const line = { product: 'two-person-tent' }
  await visit('/shop/cart', { ...line, quantity: '2' })
  const third = await visit('/shop/cart', { ...line, quantity: '1' })
  t.match(third, { status: 422, text: /Only 2 of Two person tent are left\./ })
  t.match(await visit('/shop/cart/quantity', { ...line, quantity: '3' }), { status: 422, text: /Only 2 of/ })
  t.match(await visit('/shop/cart', { product: 'sencha-tea' }), {
    status: 422,
    text: /Sencha tea is sold out\./
  })
  await visit('/shop/cart/quantity', { ...line, quantity: '1' })
  t.match((await visit('/shop/cart')).text, /Two person tent 1 €189\.00/)
  await visit('/shop/cart/quantity', { ...line, quantity: '0' })
  t.match((await visit('/shop/cart')).text, /Your cart is empty/)
  for (const form of [{ product: 'none' }, { product: 'rain-jacket' }, { product: 'enamel-mug', size: 'S' }])
    t.equal((await visit('/shop/cart', form)).status, 404, JSON.stringify(form))
  for (const quantity of ['-1', '0', '1.5', '100', 'many'])
    t.equal((await visit('/shop/cart', { ...line, quantity })).status, 400, quantity)
})

t.test('a form that is not whole comes back with what was entered and what to correct', async (t) => {
  const { visit } = visitorOf(await openShop(t))
  t.match(await visit('/shop/place-order'), { status: 303, location: '/shop/cart' }, 'with an empty cart')
  await visit('/shop/cart', { product: 'oolong-tea' })
  t.match(await visit('/shop/place-order'), { status: 200, text: /Your products cost €14\.90/ })
  const empty = await visit('/shop/place-order', { name: 'Ada "the first"' })
  t.equal(empty.status, 422)
  for (const fault of [
    'e-mail address',
    'address of the delivery',
    'how to deliver',
    'a country',
    'the terms'
  ])
    t.match(empty.text, fault)
  t.notMatch(empty.text, /Enter your name/)
  t.match(empty.html, 'value="Ada &quot;the first&quot;"')
  for (const [field, value, fault] of [
    ['email', 'ada', /Enter an e-mail address/],
    ['phone', 'call me', /Enter digits/],
    ['delivery', 'toString', /Choose how to deliver/],
    ['country', 'Atlantis', /Choose a country/],
    ['date', '2020-01-01', /Choose a day from today on/],
    ['date', '2999-02-31', /Choose a day from today on/]
  ] as const) {
    const { status, text, html } = await visit('/shop/place-order', { ...ORDER, [field]: value })
    t.equal(status, 422, value)
    t.match(text, fault, value)
    t.match(html, `aria-describedby="${field}-fault"`, value)
  }
  const own = await visit('/shop/place-order', {
    ...ORDER,
    delivery: 'pick-up',
    address: '',
    date: '2999-12-31'
  })
  t.match(
    (await visit(own.location!)).text,
    /Total with delivery €14\.90 .*Pick up in the shop .*Not before 2999-12-31/
  )
})

t.test('memory is bounded: carts by products, the shop by visitors, a visitor by orders', async (t) => {
  const products = Array.from({ length: 21 }, (_, at) => ({
    id: `p${at}`,
    name: `Product ${at}`,
    category: 'All',
    description: 'Something.',
    offers: [{ price: 100, stock: 99 }]
  }))
  const app = await openShop(t, products)
  const first = visitorOf(app)
  for (const { id } of products.slice(0, 20))
    t.equal((await first.visit('/shop/cart', { product: id })).status, 303)
  t.match((await first.visit('/shop/cart', { product: 'p20' })).text, /A cart holds 20 different products/)

  const orders: string[] = []
  for (let count = 0; count < 51; count++) {
    orders.push((await first.visit('/shop/place-order', ORDER)).location!)
    await first.visit('/shop/cart', { product: 'p0' })
  }
  t.equal((await first.visit(orders[0]!)).status, 404)
  t.equal((await first.visit(orders[1]!)).status, 200)

  const second = visitorOf(app)
  await second.visit('/shop/cart', { product: 'p1' })
  for (let count = 0; count < 998; count++) await visitorOf(app).visit('/shop/cart', { product: 'p0' })
  await first.visit('/shop/cart')
  await visitorOf(app).visit('/shop/cart', { product: 'p0' })
  t.match((await first.visit('/shop/cart')).text, /Product 0/, 'visited since')
  t.match((await second.visit('/shop/cart')).text, /Your cart is empty/, 'forgotten')
})
