import { findChromium } from '@svc/browser'
import { chromium, type Page } from 'playwright-core'
import { serveConsole, type ServedConsole } from './console/serve-console.ts'

const PARTS = 10_000
const RUNS = 1_000
const LIVE = 2_000
/** Milliseconds of a task of the main thread. */
const LIMIT = 50

// Entries of the browser itself: each task over 50 milliseconds. Longest frames say whether the page stood still between tasks.
const OBSERVE = `globalThis.tasks = []
new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)))
  .observe({ type: 'longtask', buffered: true })`

/** Shows whether the page of the console stays fluent: tasks of its main thread over 50 ms, after loading. */
export async function report(rounds: number): Promise<void> {
  const executablePath = await findChromium().catch(() => undefined)
  if (executablePath === undefined) return console.log('\nconsole: not measured, as there is no Chromium')
  console.log(`\nthe console in ${executablePath}: tasks of the main thread over ${LIMIT} ms, after loading`)
  const served = await serveConsole()
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  for (let round = 0; round < rounds; round++) {
    const page = await (await browser.newContext({ viewport: { width: 1_280, height: 800 } })).newPage()
    await page.addInitScript({ content: OBSERVE })
    await reportParts(page, served)
    await reportRuns(page, served)
    await reportLive(page, served)
    await page.context().close()
  }
  await browser.close()
  await served.close()
}

async function reportParts(page: Page, served: ServedConsole): Promise<void> {
  const runId = await served.start('many', PARTS, 'many')
  await served.ended(runId)
  for (const [tab, list] of [
    ['timeline', '.timeline'],
    ['content', '.run-content'],
    ['parts', '.parts']
  ] as const) {
    await page.goto(served.page)
    await page.locator('h1').waitFor()
    await measure(page, `${PARTS} parts, ${tab}: read, and scrolled to the end`, async () => {
      await page.evaluate(`location.hash = '#/run/${runId}?tab=${tab}'`)
      await page.locator(list).waitFor()
      await scroll(page, list)
    })
  }
  await measure(page, `the list of runs after a run of ${PARTS} parts`, async () => {
    await page.evaluate("location.hash = '#/runs'")
    await page.locator('.run-row').first().waitFor()
  })
}

async function reportRuns(page: Page, served: ServedConsole): Promise<void> {
  const runs = await Promise.all(
    Array.from({ length: RUNS }, (_, index) => served.start('short', index, `short-${index}`))
  )
  await Promise.all(runs.map((runId) => served.ended(runId)))
  await page.goto(served.page)
  await page.locator('h1').waitFor()
  await measure(page, `${RUNS} runs, scrolled to the end`, async () => {
    await page.evaluate("location.hash = '#/runs'")
    await page.locator('.run-row').first().waitFor()
    await scroll(page, '.run-row')
  })
}

async function reportLive(page: Page, served: ServedConsole): Promise<void> {
  await page.goto(`${served.page}#/talk/agent/fast`)
  await page.getByLabel('Message to fast').waitFor()
  await measure(page, `${LIVE} parts, 200 a second, as they come`, async () => {
    await page.getByLabel('Message to fast').fill(String(LIVE))
    await page.keyboard.press('Enter')
    // Not by its text, which would be searched for in every frame.
    await page.locator('.turn[data-status="completed"]').waitFor({ timeout: 60_000 })
  })
}

/** Turns the wheel over an element until it has been at its end for a while. */
async function scroll(page: Page, selector: string): Promise<void> {
  await page.locator(selector).first().hover()
  for (let turn = 0; turn < 60; turn++) {
    await page.mouse.wheel(0, 2_000)
    await page.evaluate('new Promise(requestAnimationFrame)')
  }
}

/** Prints the tasks that a scene has cost. */
async function measure(page: Page, what: string, act: () => Promise<void>): Promise<void> {
  await page.waitForLoadState('networkidle').catch(() => {})
  await page.evaluate('tasks.length = 0')
  const begin = performance.now()
  await act()
  const seconds = (performance.now() - begin) / 1_000
  const tasks = await page.evaluate<number[]>('new Promise((end) => setTimeout(() => end(tasks), 100))')
  const longest = Math.max(0, ...tasks)
  console.log(
    `${what.padEnd(60)}${String(tasks.length).padStart(4)} tasks, longest ${longest === 0 ? `≤ ${LIMIT}` : longest.toFixed(0)} ms in ${seconds.toFixed(1)} s`
  )
}
