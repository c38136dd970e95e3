import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import t from 'tap'
import { takeLook } from '../../src/look/take-look.ts'
import { launchPlain, needsChromium } from '../helpers/chromium.ts'

t.test('what is seen', needsChromium, async (t) => {
  const browser = await launchPlain(['--site-per-process'])
  t.teardown(() => browser.close())
  const frame = '<p>in the frame</p><input type="password" value="frame-secret"><span id="a">Click me</span>'
  const script = '<script>a.addEventListener("click", () => {})</script>'
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(frame + script)
  }).listen(0)
  t.teardown(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  const open = async (html: string): Promise<Page> => {
    const context = await browser.newContext()
    t.teardown(() => context.close())
    const page = await context.newPage()
    await page.goto(`http://localhost:${port}/`)
    await page.setContent(html)
    return page
  }
  const see = async (page: Page): Promise<string> => (await takeLook(page, {}, { timeout: 10_000 })).text
  const show = async (html: string): Promise<string> => see(await open(html))

  t.test('states and facts of fields', async (t) => {
    const text = await show(`
      <input aria-label="A" required placeholder="name" value="bob"><input type="checkbox" aria-label="B" checked>
      <input type="date" aria-label="C" min="2020-01-01" value="2020-02-03"><textarea aria-label="D" readonly></textarea>
      <button aria-expanded="false">E</button><details><summary>F</summary>closed</details>
      <select aria-label="G"><option>one<option selected>two</select><button class="icon-trash"></button>`)
    t.match(text, /textbox "A" \[required\] \[placeholder="name"\] \[ref=\w+\]: bob/)
    t.match(text, /checkbox "B" \[checked\]/)
    t.match(text, /textbox "C" \[type="date"\] \[min="2020-01-01"\] \[ref=\w+\]: 2020-02-03/)
    t.match(text, /textbox "D" \[readonly\]/)
    t.match(text, /button "E" \[collapsed\]/)
    t.match(text, /group \[collapsed\]/)
    t.match(text, /combobox "G" \[ref=\w+\]:\n +- option "one"\n +- option "two" \[selected\]/)
    t.match(text, /button \[class="icon-trash"\]/)
    t.notMatch(text, 'closed')
  })

  t.test('plain rows of tables are one line, and long lists of options are cut', async (t) => {
    const options = Array.from({ length: 200 }, (_, index) => `<option>item ${index}</option>`).join('')
    const text = await show(`<table><tr><th>A<th>B<tr><td>1<td>2<tr><td>3<td><a href="/x">X</a></table>
      <select aria-label="S">${options}<option selected>last</select>`)
    t.match(text, /row \[ref=\w+\]: A \| B\n/)
    t.match(text, /row \[ref=\w+\]: 1 \| 2\n/)
    t.match(text, /cell "3".*\n.*cell.*\n.*link "X"/)
    t.match(text, 'option "last" [selected]')
    t.match(text, '180 more options')
    t.notMatch(text, '"item 50"')
  })

  t.test('frames of the same and of another site, and shadow roots', async (t) => {
    const page =
      await open(`<iframe src="/f"></iframe><iframe src="http://127.0.0.1:${port}/f"></iframe><div id="s"></div>
      <script>s.attachShadow({ mode: 'open' }).innerHTML = '<button>Shadow</button><input type="password" value="shadow-secret">'</script>`)
    await Promise.all(page.frames().map((each) => each.waitForLoadState()))
    const text = await see(page)
    t.equal(text.match(/in the frame/g)?.length, 2)
    t.equal(text.match(/clickable "Click me" \[ref=f\d+e\d+\]/g)?.length, 2)
    t.match(text, /button "Shadow" \[ref=/)
    t.notMatch(text, /secret/)
  })

  t.test('elements that only have a listener can be clicked by ref', async (t) => {
    const page = await open(`<p>Some <span id="a">words</span> and <span>others</span></p>
      <i id="b" class="fa-trash" style="display: inline-block; width: 20px; height: 20px"></i>
      <svg id="c" width="20" height="20"><path d="M0 0h9v9z"/></svg><span style="cursor: pointer">delegated</span>
      <span tabindex="0">focusable</span><div id="d">a card with <a href="/x">a link</a> in it</div>
      <script>globalThis.clicks = []
      for (const id of 'abcd') document.getElementById(id).addEventListener('click', () => clicks.push(id))
      document.addEventListener('click', () => {})</script>`)
    const text = await see(page)
    for (const name of ['words', 'delegated', 'focusable']) t.match(text, `clickable "${name}" [ref=`)
    t.match(text, /clickable \[class="fa-trash"\] \[ref=/)
    t.match(text, /generic \[clickable\] \[ref=/)
    t.equal(text.match(/- clickable/g)?.length, 5)
    t.match(text, 'and others')
    for (const ref of text.matchAll(/- clickable .*\[ref=(e\d+)\]/g)) await page.getByRef(ref[1]!).click()
    t.same(await page.evaluate('clicks.toSorted()'), ['a', 'b', 'c'])
  })

  t.test('the page is left as it was, and notices nothing', async (t) => {
    const page =
      await open(`<p>one <span id="a">two</span></p><input type="password" value="secret"><i style="opacity: 0">x</i>
      <script>a.onclick = () => {}
      globalThis.changes = 0
      new MutationObserver((records) => (changes += records.length))
        .observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
      for (const key of ['getAttribute', 'getBoundingClientRect']) {
        const own = Element.prototype[key]
        Element.prototype[key] = function (...args) { changes++; return own.apply(this, args) }
      }</script>`)
    const before = await page.content()
    const own = 'Object.getOwnPropertyNames(globalThis).length'
    const names = await page.evaluate(own)
    await see(page)
    await see(page)
    t.equal(await page.evaluate('changes'), 0)
    t.equal(await page.evaluate(own), names)
    t.equal(await page.content(), before)
    t.equal(await page.locator('input').inputValue(), 'secret', 'the lens is off again')
  })

  t.test('a page that answers nonsense about its listeners is looked at all the same', async (t) => {
    const text =
      await show(`<button>Buy</button><script>Document.prototype.querySelectorAll = () => { throw 1 }
      Array.prototype.push = () => 'x'; Object.keys = () => [{}]</script>`)
    t.match(text, 'button "Buy" [ref=')
  })

  t.test('a hundred looks do not harm the page', async (t) => {
    const page = await open(
      `<span id="a">x</span>${'<p>text</p>'.repeat(20)}<script>a.onclick = () => {}</script>`
    )
    const first = await see(page)
    for (let index = 0; index < 99; index++) await see(page)
    t.equal(await see(page), first)
  })
})
