import { chromium, findChromium, type Browser, type Desk } from '@svc/browser'
import { chromium as playwright, type Page } from 'playwright-core'
import { servePages } from './browser/pages.ts'
import { runPlain } from './browser/plain-run.ts'
import { cpuOfTree, memoryOfDescendants } from './browser/process-tree.ts'
import { createShopper, refOf } from './browser/shopper.ts'
import { median, percentile } from './figures.ts'

const TIMES = 11
const ACTIONS = 60
const AT_ONCE = 16
const DESKS = 6
const EVERYWHERE = { allows: () => true, mayBePrivate: () => true }

/** Shows what browser agents cost: the browser, a desk, an action with the look after it, and whole runs. */
export async function report(): Promise<void> {
  const executablePath = await findChromium().catch(() => undefined)
  if (executablePath === undefined) return console.log('\nbrowser: not measured, as there is no Chromium')
  const pages = await servePages()
  console.log(`\nbrowser agents with ${executablePath}, milliseconds (plain Playwright beside)\n`)
  await reportStarts(executablePath, pages.host)
  await reportMemory(pages.host)
  await reportDesk(pages.host)
  await reportRuns(executablePath, pages.host)
  pages.close()
}

async function reportStarts(executablePath: string, host: string): Promise<void> {
  const coldPlain = await times(TIMES, async () => {
    const browser = await launchPlain(executablePath)
    await (await browser.newContext()).newPage()
    return () => browser.close()
  })
  const cold = await times(TIMES, async () => {
    const browser = open()
    await openDesk(browser)
    return () => browser.close()
  })
  line('launch, and the first desk', cold, coldPlain, 230)
  const coldPagePlain = await times(TIMES, async () => {
    const browser = await launchPlain(executablePath)
    await (await (await browser.newContext()).newPage()).goto(`http://${host}/`)
    return () => browser.close()
  })
  const coldPage = await times(TIMES, async () => {
    const browser = open()
    await (await openDesk(browser)).act({ action: 'open', url: `http://${host}/` }, never)
    return () => browser.close()
  })
  line('launch, its check, the first page', coldPage, coldPagePlain)
  const browser = open()
  const first = await openDesk(browser)
  const plain = await launchPlain(executablePath)
  const desks: Desk[] = []
  const warm = await times(TIMES, async () => void desks.push(await openDesk(browser)))
  const pages: Page[] = []
  const warmPlain = await times(
    TIMES,
    async () => void pages.push(await (await plain.newContext()).newPage())
  )
  line('a desk: context and page', warm, warmPlain, 80)
  const opened = await times(TIMES, async () => {
    await desks.pop()!.act({ action: 'open', url: `http://${host}/` }, never)
  })
  const openedPlain = await times(TIMES, async () => void (await pages.pop()!.goto(`http://${host}/`)))
  line('opening a page, until it is quiet', opened, openedPlain)
  await plain.close()
  await first.close()
  await browser.close()
}

async function reportMemory(host: string): Promise<void> {
  const browser = open()
  await openDesk(browser)
  const alone = await memoryOfDescendants()
  for (let desk = 0; desk < DESKS; desk++) {
    await (await openDesk(browser)).act({ action: 'open', url: `http://${host}/` }, never)
  }
  const perDesk = ((await memoryOfDescendants()) - alone) / DESKS
  console.log(`${'PSS of a desk with a page'.padEnd(36)}${(perDesk / 1e6).toFixed(0)} MB   target ≤ 45`)
  await browser.close()
}

async function reportDesk(host: string): Promise<void> {
  const browser = open()
  const desk = await openDesk(browser)
  await desk.act({ action: 'open', url: `http://${host}/` }, never)
  const ref = refOf((await desk.look()).text, 'textbox')
  const actions = await times(ACTIONS, async () => {
    await desk.act({ action: 'type', at: { ref }, text: 'widget' }, never)
    await desk.look()
  })
  console.log(
    `${'an action with the look after it'.padEnd(36)}p50 ${at(actions, 0.5)}, p95 ${at(actions, 0.95)}   target p95 ≤ 150`
  )
  await desk.act({ action: 'open', url: `http://${host}/large` }, never)
  let chars = 0
  const looks = await times(TIMES, async () => {
    chars = (await desk.look()).text.length
  })
  console.log(
    `${'a look at 10,000 elements'.padEnd(36)}p50 ${at(looks, 0.5)}, ${chars} characters   target ≤ 1,000 and ≤ 24,000`
  )
  await browser.close()
}

async function reportRuns(executablePath: string, host: string): Promise<void> {
  const browser = open()
  const ours = await measureRuns(async () => {
    const { text } = await createShopper(browser, host).run('How many widgets are there?')
    if (text !== 'There are 30 widgets.') throw new Error(`the run ended with: ${text}`)
  })
  await browser.close()
  const plainBrowser = await launchPlain(executablePath)
  const plain = await measureRuns(() => runPlain(plainBrowser, host))
  await plainBrowser.close()
  line('a run of 6 actions', ours.warm, plain.warm, 700)
  line('its CPU, of all processes', [ours.cpu], [plain.cpu])
  line(`${AT_ONCE} such runs at once`, [ours.together], [plain.together], 4_000)
  line('the first run of a browser', [ours.first], [plain.first])
}

async function measureRuns(run: () => Promise<void>) {
  const [first = 0] = await times(1, run)
  const before = await cpuOfTree()
  const warm = await times(TIMES, run)
  const cpu = ((await cpuOfTree()) - before) / TIMES
  const [together = 0] = await times(1, () =>
    Promise.all(Array.from({ length: AT_ONCE }, run)).then(() => {})
  )
  return { first, warm, cpu, together }
}

// Chromium's own sandbox does not work for root.
const isRoot = process.getuid?.() === 0
const never = new AbortController().signal

function open(): Browser {
  return chromium({ sandbox: !isRoot, pages: 16 })
}

function launchPlain(executablePath: string) {
  return playwright.launch({ executablePath, args: isRoot ? ['--no-sandbox'] : [], chromiumSandbox: !isRoot })
}

function openDesk(browser: Browser): Promise<Desk> {
  return browser.open({
    hosts: EVERYWHERE,
    signal: never,
    timeout: { action: 5_000, navigation: 30_000 },
    limits: { bytes: 1e9, tabs: 5 }
  })
}

type Cleanup = () => Promise<unknown>

async function times(count: number, what: () => Promise<Cleanup | void>): Promise<number[]> {
  const all: number[] = []
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now()
    const cleanUp = await what()
    all.push(performance.now() - startedAt)
    await cleanUp?.()
  }
  return all.toSorted((a, b) => a - b)
}

const at = (sorted: readonly number[], share: number) => percentile(sorted, share).toFixed(0)

function line(what: string, ours: readonly number[], plain: readonly number[], target?: number): void {
  const goal = target === undefined ? '' : `   target ≤ ${target}`
  console.log(`${what.padEnd(36)}p50 ${median(ours).toFixed(0)} (${median(plain).toFixed(0)})${goal}`)
}
