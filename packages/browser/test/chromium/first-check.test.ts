import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BrowserAgent, chromium, type Desk } from '@svc/browser'
import { RUN_ERR_BROWSER_FAILED } from '../../src/errors.ts'
import { scriptedModel } from '@svc/runtime/testing'
import { DeskContext } from '../../src/chromium/desk-context.ts'
import { ChromiumDesk } from '../../src/chromium/desk.ts'
import { planChromium } from '../../src/chromium/plan-chromium.ts'
import { CHROMIUM, launchPlain, needsChromium } from '../helpers/chromium.ts'
import { deskOptions } from '../helpers/desk-options.ts'
import { servePages } from '../helpers/page-server.ts'
import { browserPids, until } from '../helpers/processes.ts'

const options = deskOptions()

/** A server that counts what reaches it. */
async function count(t: Test): Promise<{ origin: string; requests: number }> {
  const counted = { origin: '', requests: 0 }
  counted.origin = await servePages(t, {}, (_request, reply) => {
    counted.requests++
    reply.end('<title>Reached</title>')
  })
  return counted
}

/** A browser whose WebRTC goes past its proxy, whatever flags it gets. */
async function leakingBrowser(t: Test) {
  const executablePath = join(t.testdir({}), 'leaking')
  const policies = '--force-webrtc-ip-handling-policy=default --webrtc-ip-handling-policy=default'
  await writeFile(executablePath, `#!/bin/sh\nexec ${CHROMIUM} "$@" ${policies}\n`)
  await chmod(executablePath, 0o755)
  const browser = chromium({ sandbox: false, executablePath })
  t.teardown(() => browser.close())
  return browser
}

t.test('a browser that sends UDP past its proxy opens no page, and is ended', needsChromium, async (t) => {
  const server = await count(t)
  const browser = await leakingBrowser(t)
  const refusal = { code: 'RUN_ERR_BROWSER_FAILED', message: 'sends UDP past its proxy' }
  const visit = async () =>
    (await browser.open(options)).act({ action: 'open', url: server.origin }, options.signal)
  await Promise.all([1, 2, 3].map((desk) => t.rejects(visit(), refusal, `desk ${desk}`)))
  await until(() => browserPids().length === 0)
  t.equal(server.requests, 0)
})

t.test('a run in such a browser ends with that error', needsChromium, async (t) => {
  const server = await count(t)
  const agent = new BrowserAgent({
    name: 'visitor',
    register: false,
    browser: await leakingBrowser(t),
    allow: [],
    privateHosts: [new URL(server.origin).host],
    model: scriptedModel([
      { toolCalls: [{ toolName: 'browser_open', args: { url: server.origin } }] },
      'It is open.'
    ])
  })
  await t.rejects(agent.run('Open it'), { code: 'RUN_ERR_BROWSER_FAILED' })
  t.equal(server.requests, 0)
})

/** A desk in a browser whose check does what a test says, in each of its pages; the check can end the browser. */
async function deskWithCheck(t: Test, check: (end: () => Promise<void>) => Promise<void>): Promise<Desk> {
  const browser = await launchPlain()
  t.teardown(() => browser.close())
  const running = {
    browser,
    check: () => check(() => browser.close()),
    ended: new AbortController().signal,
    keepAlive: () => undefined,
    end: () => browser.close()
  }
  const plan = planChromium({ sandbox: false })
  return ChromiumDesk.open(
    {
      open: (state) => DeskContext.open(running, { plan, options, state, proxy: undefined }),
      fault: undefined,
      leave: async () => undefined
    },
    options
  )
}

t.test('a desk opens at once; what it opens waits for the check', needsChromium, async (t) => {
  const server = await count(t)
  const passed = Promise.withResolvers<void>()
  const desk = await deskWithCheck(t, () => passed.promise)
  t.match(await desk.look(), { url: 'about:blank' })
  const opening = desk.act({ action: 'open', url: server.origin }, options.signal)
  const order: string[] = []
  void opening.then(() => order.push('opened'))
  // What the browser does in the meantime is more than it needs for a page.
  for (let times = 0; times < 10; times++) await desk.screenshot()
  t.equal(server.requests, 0)
  order.push('passed')
  passed.resolve()
  await opening
  t.same(order, ['passed', 'opened'])
  t.equal(server.requests, 1)
  t.match(await desk.place(), { title: 'Reached' })
})

t.test('a check that fails before the first action is its error', needsChromium, async (t) => {
  const server = await count(t)
  const opened = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const desk = await deskWithCheck(t, async (end) => {
    await opened.promise
    void end().then(ended.resolve)
    throw new RUN_ERR_BROWSER_FAILED('it leaks')
  })
  opened.resolve()
  await ended.promise
  await t.rejects(desk.act({ action: 'open', url: server.origin }, options.signal), {
    code: 'RUN_ERR_BROWSER_FAILED',
    message: 'it leaks'
  })
  t.equal(server.requests, 0)
})

t.test('a canceled action waits for no check', needsChromium, async (t) => {
  const desk = await deskWithCheck(t, () => new Promise(() => undefined))
  const controller = new AbortController()
  const reason = new Error('canceled')
  const opening = desk.act({ action: 'open', url: 'http://127.0.0.1/' }, controller.signal)
  controller.abort(reason)
  t.equal(await opening.catch((err: unknown) => err), reason)
  await desk.close()
})

t.test('a check that its page did not survive is repeated', needsChromium, async (t) => {
  const server = await count(t)
  let checks = 0
  const desk = await deskWithCheck(t, async () => {
    if (++checks <= 2) throw new Error('Target crashed')
  })
  const open = () => desk.act({ action: 'open', url: server.origin }, options.signal)
  await t.rejects(open(), { code: 'RUN_ERR_BROWSER_CRASHED' })
  t.equal(server.requests, 0)
  await open()
  t.same([checks, server.requests], [3, 1])
})
