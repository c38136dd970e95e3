import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import { MAX_CHARS, takeLook } from '../../src/look/take-look.ts'
import { takeScreenshot, withMarks } from '../../src/look/take-screenshot.ts'
import { takeSnapshot } from '../../src/look/snapshot.ts'
import { launchPlain, needsChromium } from '../helpers/chromium.ts'

const patient = { timeout: 25_000 }

t.test('bounds of looks', needsChromium, async (t) => {
  const browser = await launchPlain()
  t.teardown(() => browser.close())
  const open = async (html: string): Promise<Page> => {
    const context = await browser.newContext()
    t.teardown(() => context.close())
    const page = await context.newPage()
    await page.setContent(html)
    return page
  }

  t.test('of 10,000 elements those in the viewport come first, with refs', async (t) => {
    const page = await open(`<ol id="list"></ol><script>
      list.innerHTML = Array.from({ length: 10000 }, (_, index) => '<li style="height: 30px"><button>Item ' + (index + 1) + '</button>').join('')
    </script>`)
    const inViewport = () =>
      page.evaluate<string[]>(`Array.from(document.querySelectorAll('button')).filter((each) => {
        const { top, bottom } = each.getBoundingClientRect()
        return bottom > 0 && top < innerHeight
      }).map((each) => each.textContent)`)

    const top = await takeLook(page, {}, patient)
    t.ok(top.text.length <= MAX_CHARS, `${top.text.length} characters`)
    t.ok(top.omitted > 5_000, `${top.omitted} lines omitted`)
    for (const name of await inViewport()) t.match(top.text, `button "${name}" [ref=`)
    t.match(top.text, /more (?:lines below|elements out of sight)/)

    await page.getByRole('button', { name: 'Item 7000', exact: true }).scrollIntoViewIfNeeded()
    const visible = await inViewport()
    t.ok(visible.includes('Item 7000'))
    const middle = await takeLook(page, { maxChars: 4_000 }, patient)
    t.ok(middle.text.length <= 4_000, `${middle.text.length} characters`)
    for (const name of visible) t.match(middle.text, `button "${name}" [ref=`)
    t.notMatch(middle.text, '"Item 1"')
    const ref = /"Item 7000" \[ref=(\w+)\]/.exec(middle.text)![1]!
    t.equal(await page.getByRef(ref).textContent(), 'Item 7000')
  })

  t.test('a crash during a look or a screenshot ends it at once', async (t) => {
    for (const take of [takeLook, takeScreenshot]) {
      const page = await open('<p>one</p>')
      const busy = page.waitForEvent('console')
      void page.evaluate('console.log("busy"); while (true);').catch(() => {})
      await busy
      const taken: Promise<unknown> = take(page, {}, patient)
      await Promise.all([t.rejects(taken, { code: 'RUN_ERR_BROWSER_CRASHED' }), killRenderers(browser)])
    }
  })

  t.test('marks are removed when the screenshot fails', async (t) => {
    const page = await open('<button>Buy</button>')
    const added = 'document.documentElement.children.length - 2'
    const snapshot = await takeSnapshot(page, patient, 1_000)
    const failing = withMarks(page, snapshot, async () => {
      t.equal(await page.evaluate(added), 1)
      throw new Error('no image')
    })
    await t.rejects(failing, { message: 'no image' })
    await page.waitForFunction(`${added} === 0`)
  })
})

async function killRenderers(browser: Browser): Promise<void> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  for (const { type, id } of processInfo) if (type === 'renderer') process.kill(id, 'SIGKILL')
  await session.detach()
}
