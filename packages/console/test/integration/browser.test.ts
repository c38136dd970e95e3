import { BrowserAgent, chromium } from '@svc/browser'
import { scriptedModel } from '@svc/runtime/testing'
import Fastify from 'fastify'
import type { Browser } from 'playwright-core'
import t, { type Test } from 'tap'
import { CHROMIUM, launchChromium, needsChromium } from '../helpers/chromium.ts'
import { consoleApp } from '../helpers/console-app.ts'
import { openPage } from '../helpers/open-page.ts'

t.setTimeout(120_000)

let browser: Browser
t.before(async () => {
  if (needsChromium.skip === false) browser = await launchChromium()
})
t.teardown(() => browser?.close())

/** A site of two pages. */
async function serveSite(t: Test): Promise<string> {
  const site = Fastify({ forceCloseConnections: true })
  t.teardown(() => site.close())
  const pages = {
    '/': '<title>Shop &lt;img src=x&gt;</title><h1>Shop</h1><a href="/cart">Cart</a>',
    '/cart': '<title>Cart</title><h1>Cart</h1><p>Nothing in it.</p>'
  }
  for (const [path, html] of Object.entries(pages))
    site.get(path, (_request, reply) => reply.type('text/html').send(html))
  return site.listen({ host: '127.0.0.1', port: 0 })
}

t.test(
  'the screenshots of a browser agent are a strip, each with the action that followed',
  { ...needsChromium, timeout: 100_000 },
  async (t) => {
    const site = await serveSite(t)
    const desk = chromium({ executablePath: CHROMIUM!, sandbox: false })
    t.teardown(() => desk.close())
    const act = (action: string, args: object) => ({
      toolCalls: [{ toolName: `browser_${action}`, args }]
    })
    const model = scriptedModel(({ prompt }, index) => {
      const ref = /\[url=\\*"\/cart\\*"\] \[ref=(e\d+)\]/.exec(JSON.stringify(prompt))?.[1] ?? 'none'
      return [
        act('open', { url: `${site}/` }),
        act('click', { ref: 'e999' }),
        act('click', { ref }),
        'The cart is empty'
      ][index]!
    })
    const { page: url } = await consoleApp(t, {
      add: (registry) =>
        new BrowserAgent({
          name: 'shopper',
          registry,
          model,
          browser: desk,
          screenshots: 'steps',
          allow: ['shop.example'],
          privateHosts: [new URL(site).host]
        })
    })
    const { page, faults, axe } = await openPage(t, browser, `${url}#/talk/agent/shopper`)
    await page.getByLabel('Message to shopper').fill('What is in the cart?')
    await page.keyboard.press('Enter')
    await page.getByText('The cart is empty').waitFor()
    await page.getByRole('link', { name: 'screenshots' }).waitFor()

    await page.getByRole('link', { name: 'Browser' }).click()
    await page.getByRole('link', { name: 'shopper' }).click()
    const shots = page.locator('.shot')
    await shots.first().locator('img').waitFor()
    await shots.nth(1).locator('img').waitFor()
    t.equal(await shots.count(), 2)
    t.match(await shots.first().innerText(), /Shop <img src=x>[^]*click[^]*ref e999/)
    t.match(await shots.first().locator('.bad').innerText(), /\S/, 'the action has failed')
    t.equal(await shots.first().locator('.shot-action').count(), 2)
    t.match(await shots.nth(1).innerText(), /Cart/)
    t.equal(await shots.nth(1).locator('.shot-action').count(), 0)
    const width = await page.evaluate<number>(
      `(async (image) => (await image.decode(), image.naturalWidth))(document.querySelector('.shot img'))`
    )
    t.ok(width > 600, `an image of ${width} pixels`)
    t.strictSame(await axe(), [])
    await page.setViewportSize({ width: 390, height: 800 })
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
    t.strictSame(await axe(), [])
    t.strictSame(await faults(), [])
  }
)
