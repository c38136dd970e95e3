import t from 'tap'
import { chromium } from '../../src/chromium/chromium.ts'
import { needsChromium } from '../helpers/chromium.ts'
import { deskOptions } from '../helpers/desk-options.ts'
import { servePages } from '../helpers/page-server.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())

t.test('a desk opens a page, looks at it, and acts on what it saw', needsChromium, async (t) => {
  const origin = await servePages(t, {
    '/': '<title>Shop</title><button onclick="document.title = `bought`">Buy</button>'
  })
  const options = deskOptions()
  const desk = await browser.open(options)
  t.teardown(() => desk.close())
  t.same((await desk.place()).url, 'about:blank')
  await desk.act({ action: 'open', url: origin }, options.signal)
  const { text, title, url } = await desk.look()
  t.match({ title, url }, { title: 'Shop', url: `${origin}/` })
  const [, ref = ''] = /button "Buy" \[ref=(\w+)\]/.exec(text)!
  await desk.act({ action: 'click', at: { ref } }, options.signal)
  t.equal((await desk.place()).title, 'bought')
})
