import t from 'tap'
import { chromium } from '@svc/browser'

t.test('a bad option is named', (t) => {
  const cases: [object, string][] = [
    [{ page: 1 }, ' page'],
    [{ pages: 0 }, ' pages'],
    [{ idle: -1 }, ' idle'],
    [{ openTimeout: 1.5 }, ' openTimeout'],
    [{ launchTimeout: 0 }, ' launchTimeout'],
    [{ sandbox: 'no' }, ' sandbox'],
    [{ executablePath: '' }, ' executablePath'],
    [{ viewport: { width: 1280 } }, ' viewport/height'],
    [{ viewport: { width: 1, height: 800 } }, ' viewport/width'],
    [{ locale: 'german!' }, ' locale'],
    [{ timezone: 'Mars/Olympus' }, ' timezone'],
    [{ connect: 'file:///x' }, ' connect'],
    [{ connect: 'ws://127.0.0.1:1', sandbox: false }, ' sandbox'],
    [{ args: ['page.html'] }, ' args/0'],
    [{ args: ['--lang=de', '--proxy-server=http://x'] }, ' args/1'],
    [{ args: ['--no-sandbox'] }, ' args/0'],
    [{ args: ['--remote-debugging-port=9222'] }, ' args/0'],
    [{ args: ['--host-resolver-rules=MAP * 127.0.0.1'] }, ' args/0'],
    [{ args: ['--disable-web-security'] }, ' args/0']
  ]
  for (const [options, path] of cases)
    t.throws(() => chromium(options), { code: 'RUN_ERR_BAD_BROWSER', message: path }, path)
  t.end()
})

t.test('a browser with good options has started nothing', async (t) => {
  const before = process.getActiveResourcesInfo()
  const browser = chromium({ executablePath: '/no/such/program', timezone: 'Europe/Zurich', locale: 'de-CH' })
  t.equal(browser.isGuarded, true)
  t.equal(chromium({ connect: 'ws://127.0.0.1:1' }).isGuarded, false)
  t.same(process.getActiveResourcesInfo(), before)
  await browser.close()
})
