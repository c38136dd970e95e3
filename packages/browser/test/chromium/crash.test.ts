import t from 'tap'
import { chromium } from '@svc/browser'
import { needsChromium } from '../helpers/chromium.ts'
import { deskOptions } from '../helpers/desk-options.ts'
import { deskAt } from '../helpers/desk-at.ts'
import { browserPids, killPages, until } from '../helpers/processes.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())

const PAGES = {
  '/': '<title>Start</title><script>document.cookie = "kept=yes; max-age=1000"</script>',
  '/cookie': '<script>document.write(document.cookie || "none")</script>'
}
const CRASHED = { code: 'RUN_ERR_BROWSER_CRASHED' }

t.test('a crash of a page between two calls is reported by the next, once', needsChromium, async (t) => {
  const { desk, act, origin } = await deskAt(t, browser, PAGES)
  killPages()
  // The crash is reported by the system: calls before that may fail with it, too.
  await t.rejects(desk.look(), CRASHED)
  t.match(await desk.look(), { url: 'about:blank', tabs: { length: 1 } })
  await act({ action: 'open', url: `${origin}/cookie` })
  t.match((await desk.look()).text, 'kept=yes', 'the cookies are those of before')
})

t.test('a crash of a page during an action ends it at once', needsChromium, async (t) => {
  const { desk, act } = await deskAt(t, browser, PAGES, { timeout: { action: 60_000, navigation: 60_000 } })
  const waiting = act({ action: 'wait', text: 'never' })
  await until(() => browserPids().length > 0)
  killPages()
  await t.rejects(waiting, CRASHED)
  t.match(await desk.place(), { tabs: {} }, 'a place is known')
  t.match(await desk.look(), { url: 'about:blank' })
})

t.test(
  'a crash of the browser is reported once, and the desk begins with its last state',
  needsChromium,
  async (t) => {
    const { desk, act, origin } = await deskAt(t, browser, PAGES)
    await desk.state()
    const waiting = act({ action: 'wait', text: 'never' })
    for (const pid of browserPids()) process.kill(-pid, 'SIGKILL')
    await t.rejects(waiting, CRASHED)
    t.match(await desk.look(), { url: 'about:blank', tabs: { length: 1 } })
    await act({ action: 'open', url: `${origin}/cookie` })
    t.match((await desk.look()).text, 'kept=yes')
  }
)

t.test(
  'a crash of the browser with several tabs is not taken for a tab that closes itself',
  needsChromium,
  async (t) => {
    const { act, find, origin } = await deskAt(t, browser, {
      ...PAGES,
      '/field': '<input aria-label=Name oninput="for (const end = Date.now() + 100; Date.now() < end; );">'
    })
    await act({ action: 'open', url: `${origin}/field`, newTab: true })
    const typing = act({ action: 'type', at: await find('"Name"'), text: 'a'.repeat(40) })
    for (const pid of browserPids()) process.kill(-pid, 'SIGKILL')
    await t.rejects(typing, CRASHED)
  }
)

t.test('desks close while the browser crashes', needsChromium, async (t) => {
  const { desk } = await deskAt(t, browser, PAGES)
  for (const pid of browserPids()) process.kill(-pid, 'SIGKILL')
  await desk.close()
  await (await browser.open(deskOptions())).close()
})

t.test('a page that computes without end blocks neither close nor other desks', needsChromium, async (t) => {
  const busy = '<title>Busy</title><button onclick="while (true);">Work</button>'
  const { desk, click } = await deskAt(t, browser, busy, { timeout: { action: 1_500, navigation: 5_000 } })
  await click('Work').catch(() => undefined)
  await t.rejects(desk.look(), { code: 'RUN_ERR_BROWSER_ACTION_FAILED' })
  await t.rejects(desk.screenshot(), { code: 'RUN_ERR_BROWSER_ACTION_FAILED' })
  await t.rejects(desk.state(), { code: 'RUN_ERR_BROWSER_ACTION_FAILED' })
  t.match(await desk.place(), { title: 'Busy' })
  const other = await deskAt(t, browser, PAGES)
  t.match(await other.desk.look(), { title: 'Start' })
  await desk.close()
})
