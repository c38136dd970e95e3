import t from 'tap'
import { takeLook } from '../../src/look/take-look.ts'
import { takeScreenshot } from '../../src/look/take-screenshot.ts'
import { launchPlain, needsChromium } from '../helpers/chromium.ts'

const bounds = { timeout: 10_000 }

t.test('secrets of a page', needsChromium, async (t) => {
  const browser = await launchPlain()
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  const see = async (): Promise<string> => (await takeLook(page, {}, bounds)).text

  t.test('values of password and card fields are masked, empty ones are not', async (t) => {
    const types = ['current-password', 'new-password', 'one-time-code', 'cc-number', 'section-a cc-csc']
    await page.setContent(
      `<input aria-label="P" type="password" value="canary-1"><label>Label <input type="password" value="canary-2"></label>
      <input aria-label="Empty" type="password"><p>You typed canary-1</p><button title="canary-1">x</button>
      <input aria-label="Dots" style="-webkit-text-security: disc" value="canary-3">
      ${types.map((type) => `<input autocomplete="${type}" value="canary-4">`).join('')}`
    )
    const text = await see()
    t.notMatch(text, /canary/)
    t.match(text, /textbox "P" .*: "\[password\]"/)
    t.match(text, /textbox "Empty" \[type="password"\] \[ref=e\d+\]$/m)
    t.equal(text.match(/\]: "\[password\]"/g)?.length, 8)
  })

  t.test(
    'a field whose value was shown stays masked, also between two looks and in a new field',
    async (t) => {
      await page.setContent(
        '<form><input id="p" type="password" value="canary-5"></form><button>Show</button>'
      )
      await see()
      await page.evaluate('p.type = "text"')
      t.notMatch(await see(), /canary/)
      await page.evaluate('p.type = "password"')
      await page.evaluate('p.type = "text"')
      t.notMatch(await see(), /canary/)
      await page.evaluate(`p.outerHTML = '<input id="p" type="text" value="canary-5">'`)
      t.notMatch(await see(), /canary/)
    }
  )

  t.test('fields are covered on screenshots, and given refs', async (t) => {
    const shoot = async (html: string, hide: string[] = []): Promise<string> => {
      await page.setContent(`<body style="caret-color: transparent">${html}`)
      if (hide.length > 0) await see()
      return (await takeScreenshot(page, { hide }, bounds)).data.toString('base64')
    }
    const field = (value: string): string => `<input autocomplete="cc-number" size="30" value="${value}">`
    t.equal(await shoot(field('4111')), await shoot(field('5222 9999')))
    t.not(await shoot('<input size="30" value="4111">'), await shoot('<input size="30" value="5222 9999">'))
    await page.setContent('<div id="s" style="width: 200px">one</div><p>x</p>')
    const ref = /generic \[ref=(e\d+)\]: one/.exec(await see())![1]!
    const one = await takeScreenshot(page, { hide: [ref] }, bounds)
    await page.evaluate('s.textContent = "two"')
    const two = await takeScreenshot(page, { hide: [ref] }, bounds)
    t.ok(one.data.equals(two.data))
    t.notOk(two.data.equals((await takeScreenshot(page, {}, bounds)).data))
  })

  t.test('marks are drawn for the image only', async (t) => {
    await page.setContent('<button>Buy</button><p>text</p><script>onresize = null</script>')
    const before = await page.content()
    const plain = await takeScreenshot(page, {}, bounds)
    const marked = await takeScreenshot(page, { marks: true }, bounds)
    t.notOk(marked.data.equals(plain.data))
    t.ok((await takeScreenshot(page, {}, bounds)).data.equals(plain.data))
    t.equal(await page.content(), before)
    await page.setContent('<p>text</p>')
    const nothing = await takeScreenshot(page, {}, bounds)
    t.ok((await takeScreenshot(page, { marks: true }, bounds)).data.equals(nothing.data), 'text has no mark')
  })
})
