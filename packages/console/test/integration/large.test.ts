import type { YieldedPart } from '@svc/registry'
import type { Browser, Page } from 'playwright-core'
import t from 'tap'
import { launchChromium, needsChromium } from '../helpers/chromium.ts'
import { consoleApp } from '../helpers/console-app.ts'
import { openPage } from '../helpers/open-page.ts'

// How fluent this is, `npm run bench -- --only console` shows.
t.setTimeout(180_000)
const options = { ...needsChromium, timeout: 150_000 }
const PARTS = 10_000
const RUNS = 1_000
/** Rows that a list may have in the document, whatever its length. */
const MAX_ROWS = 80

let browser: Browser
t.before(async () => {
  if (needsChromium.skip === false) browser = await launchChromium()
})
t.teardown(() => browser?.close())

const word = (at: number): YieldedPart => ({ type: 'text', text: `word-${at} ` })
/** Scrolls a list to its end, over and over, until an element with this text is there. */
function scrollTo(page: Page, list: string, text: string): Promise<unknown> {
  return page.evaluate(
    `new Promise((done) => {
      const isThere = (list) => [...list.querySelectorAll('bdi, code, .part-type')].some(
        (element) => element.textContent === ${JSON.stringify(text)}
      )
      const scroll = () => {
        const list = document.querySelector(${JSON.stringify(list)})
        if (list !== null) list.scrollTop = list.scrollHeight
        if (list !== null && isThere(list)) done()
        else setTimeout(scroll, 250)
      }
      scroll()
    })`
  )
}

t.test('a run of 10,000 parts: every part is there, few are in the document', options, async (t) => {
  const { page: url, app } = await consoleApp(t, {
    add: (registry) =>
      registry.add({
        kind: 'agent',
        name: 'long',
        async *stream() {
          // With `start` and `finish` as many as are said.
          for (let at = 1; at <= (PARTS - 2) / 2; at++) {
            yield word(at)
            yield { type: 'tool.call', toolCallId: `call-${at}`, toolName: `tool-${at}`, args: { at } }
          }
        }
      })
  })
  const { headers } = await app.inject({
    method: 'POST',
    url: '/api/agents/long/run',
    payload: { input: 'Go' }
  })
  const address = `${url}#/run/${String(headers['x-run-id'])}`
  const last = (PARTS - 2) / 2

  const { page, faults } = await openPage(t, browser, `${address}?tab=parts`)
  await scrollTo(page, '.windowed', 'finish')
  const rows = page.locator('.windowed li')
  t.equal(await rows.last().getAttribute('aria-posinset'), String(PARTS))
  t.ok((await rows.count()) < MAX_ROWS, `${await rows.count()} rows`)
  await rows.last().click()
  await page.getByRole('heading', { name: `Part ${PARTS}` }).waitFor()

  await page.goto(address)
  await scrollTo(page, '.windowed', `tool-${last}`)
  t.equal(await rows.last().getAttribute('aria-setsize'), String(last))
  t.ok((await rows.count()) < MAX_ROWS, `${await rows.count()} spans`)

  await page.goto(`${address}?tab=content`)
  await scrollTo(page, '.run-content', `tool-${last}`)
  const words = await page.locator('.run-content .markdown').allTextContents()
  t.strictSame(
    words.map((text) => text.trim()),
    Array.from({ length: last }, (_, at) => `word-${at + 1}`)
  )
  t.strictSame(await faults(), [])
})

t.test('1,000 runs: all are in the list, and one that begins later', options, async (t) => {
  const { page: url, app } = await consoleApp(t, {
    add: (registry) => registry.add({ kind: 'agent', name: 'short', run: (input) => `Run ${String(input)}` })
  })
  const run = (input: string) =>
    app.inject({ method: 'POST', url: '/api/agents/short/run', payload: { input, sessionId: input } })
  for (let at = 1; at <= RUNS; at++) await run(String(at))
  const { page, faults } = await openPage(t, browser, `${url}#/runs`)
  await scrollTo(page, '.windowed', 'Run 1')
  await page.getByRole('status').getByText(String(RUNS), { exact: true }).waitFor()
  const rows = page.locator('.run-row')
  t.ok((await rows.count()) < MAX_ROWS, `${await rows.count()} rows`)
  await run('later')
  await page
    .getByRole('status')
    .getByText(String(RUNS + 1))
    .waitFor()
  await page.evaluate("document.querySelector('.windowed').scrollTop = 0")
  await rows.first().getByText('Run later').waitFor()
  t.strictSame(await faults(), [])
})

t.test('parts that come faster than frames are all there, in order', options, async (t) => {
  const count = 2_000
  const { page: url } = await consoleApp(t, {
    add: (registry) =>
      registry.add({
        kind: 'agent',
        name: 'fast',
        async *stream() {
          for (let at = 1; at <= count; at++) {
            yield word(at)
            if (at % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 10))
          }
        }
      })
  })
  const { page, faults } = await openPage(t, browser, `${url}#/talk/agent/fast`)
  await page.getByLabel('Message to fast').fill('Go')
  await page.keyboard.press('Enter')
  await page.locator('.turn[data-status="completed"]').waitFor()
  const said = await page.locator('.answer').innerText()
  t.strictSame(
    said.match(/word-\d+/g),
    Array.from({ length: count }, (_, at) => `word-${at + 1}`)
  )
  t.strictSame(await faults(), [])
})
