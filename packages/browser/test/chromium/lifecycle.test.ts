import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { chromium, type ChromiumOptions } from '@svc/browser'
import { needsChromium } from '../helpers/chromium.ts'
import { deskOptions } from '../helpers/desk-options.ts'
import { browserPids, groupOf, pagePids, until, useTemporaryFolder } from '../helpers/processes.ts'

const options = deskOptions()
const temporaryFiles = useTemporaryFolder(t)

function make(t: Test, more: ChromiumOptions = {}) {
  const browser = chromium({ sandbox: false, ...more })
  t.teardown(() => browser.close())
  return browser
}

t.test('desks that open at once share one process', needsChromium, async (t) => {
  const browser = make(t)
  const desks = await Promise.all([1, 2, 3].map(() => browser.open(options)))
  t.equal(browserPids().length, 1)
  await Promise.all(desks.map((desk) => desk.close()))
})

t.test('a desk has one process of its own, the one of its page', needsChromium, async (t) => {
  const browser = make(t)
  const desks = [await browser.open(options), await browser.open(options)]
  t.equal(pagePids().length, desks.length)
})

t.test('places are given in the order of the requests', needsChromium, async (t) => {
  const browser = make(t, { pages: 2 })
  const first = await browser.open(options)
  await browser.open(options)
  const opened: number[] = []
  const controller = new AbortController()
  const reason = new Error('gone')
  const given = [0, 1, 2].map(async (index) => {
    const { signal } = index === 1 ? controller : options
    const desk = await browser.open({ ...options, signal })
    opened.push(index)
    return desk
  })
  controller.abort(reason)
  t.equal(await given[1]!.catch((err: unknown) => err), reason, 'a request that is canceled leaves the queue')
  t.same(opened, [], 'no place is free')
  await first.close()
  const next = await given[0]!
  t.same(opened, [0])
  await next.close()
  await given[2]!
  t.same(opened, [0, 2])
})

t.test('a wait for a place ends', needsChromium, async (t) => {
  const browser = make(t, { pages: 1, openTimeout: 50 })
  const desk = await browser.open(options)
  await t.rejects(browser.open(options), { code: 'RUN_ERR_BROWSER_BUSY' })
  await desk.close()
  await (await browser.open(options)).close()
})

t.test('an open that is canceled while the browser starts leaves its place', needsChromium, async (t) => {
  const browser = make(t, { pages: 1 })
  const controller = new AbortController()
  const reason = new Error('gone')
  const opening = browser.open({ ...options, signal: controller.signal })
  setImmediate(() => controller.abort(reason))
  t.equal(await opening.catch((err: unknown) => err), reason)
  await (await browser.open(options)).close()
  t.equal(browserPids().length, 1)
})

t.test('a browser that is killed is replaced', needsChromium, async (t) => {
  const browser = make(t)
  const desk = await browser.open(options)
  const other = await browser.open(options)
  const [pid] = browserPids()
  process.kill(pid!, 'SIGKILL')
  await t.rejects(desk.look(), { code: 'RUN_ERR_BROWSER_CRASHED' })
  t.match(await desk.look(), { url: 'about:blank' }, 'the desk continues with an empty tab')
  t.same((await desk.place()).tabs.length, 1)
  await t.rejects(other.act({ action: 'reload' }, options.signal), { code: 'RUN_ERR_BROWSER_CRASHED' })
  await (await browser.open(options)).close()
  t.equal(browserPids().length, 1)
  t.not(browserPids()[0], pid)
  t.same(groupOf(pid!), [], 'the children of the first are gone')
})

t.test('a browser that hangs is replaced', needsChromium, async (t) => {
  const browser = make(t, { launchTimeout: 3_000 })
  const desk = await browser.open(options)
  // Its check has passed then: the time that it may take is part of the launch.
  await desk.act({ action: 'scroll', direction: 'down' }, options.signal)
  const [pid] = browserPids()
  process.kill(-pid!, 'SIGSTOP')
  await t.rejects(browser.open(options), { code: 'RUN_ERR_BROWSER_FAILED' })
  await t.rejects(desk.look(), { code: 'RUN_ERR_BROWSER_CRASHED' })
  t.match(await desk.look(), { url: 'about:blank' })
  await desk.close()
  t.same(groupOf(pid!), [])
})

t.test('it ends when idle, and starts again', needsChromium, async (t) => {
  const browser = make(t, { idle: 20 })
  await (await browser.open(options)).close()
  await until(() => browserPids().length === 0)
  await (await browser.open(options)).close()
})

t.test(
  'close ends the desks, the wait for places and all processes, and leaves no files',
  needsChromium,
  async (t) => {
    const browser = make(t, { pages: 1 })
    const desk = await browser.open({ ...options, maxDownloadBytes: 1_000 })
    const [pid] = browserPids()
    const waiting = browser.open(options).catch((err: unknown) => err)
    t.not(groupOf(pid!).length, 0)
    await browser.close()
    t.match(await waiting, { code: 'RUN_ERR_BROWSER_FAILED' })
    t.same(groupOf(pid!), [])
    t.same(temporaryFiles(), [])
    await t.rejects(desk.look(), { code: 'RUN_ERR_BROWSER_ACTION_FAILED' })
    await desk.close()
    await (await browser.open(options)).close()
  }
)

const APP = `
  import { chromium } from '@svc/browser'
  const { signal } = new AbortController()
  const hosts = { allows: () => false, mayBePrivate: () => false }
  const timeout = { action: 1000, navigation: 1000 }
  const desk = await chromium({ sandbox: false }).open({ hosts, signal, timeout, limits: { bytes: 1000, tabs: 1 } })
`

/** An app of its own that opens a desk. */
function startApp(then: string) {
  const args = ['--conditions=@svc/source', '--input-type=module', '-e', APP + then]
  const app = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  return { app, exited: once(app, 'exit') }
}

t.test('an app whose desks are closed may end, and its browser ends with it', needsChromium, async (t) => {
  const { exited } = startApp('await desk.close()')
  t.same(await exited, [0, null])
  await until(() => browserPids().length === 0)
  t.same(temporaryFiles(), [])
})

t.test('no browser outlives an app that is killed', needsChromium, async (t) => {
  const { app, exited } = startApp('console.log("open"); setInterval(() => {}, 1000)')
  await once(app.stdout, 'data')
  const [pid] = browserPids(app.pid)
  t.ok(pid)
  app.kill('SIGKILL')
  await exited
  await until(() => groupOf(pid!).length === 0)
})
