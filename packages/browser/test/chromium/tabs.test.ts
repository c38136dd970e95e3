import t from 'tap'
import { chromium } from '@svc/browser'
import { needsChromium } from '../helpers/chromium.ts'
import { deskAt } from '../helpers/desk-at.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())

t.test('a page that opens tabs without end has at most the allowed ones', needsChromium, async (t) => {
  const { desk, click } = await deskAt(
    t,
    browser,
    '<button onclick="for (;;) window.open(`/`)">Go</button>',
    {
      limits: { bytes: 10_000_000, tabs: 3 },
      timeout: { action: 1_000, navigation: 5_000 }
    }
  )
  await click('Go').catch(() => undefined)
  t.ok((await desk.place()).tabs.length <= 3)
  await desk.close()
})

t.test('a tab that closes itself gives way to the one before it', needsChromium, async (t) => {
  const { desk, click } = await deskAt(t, browser, {
    '/': '<title>First</title><button onclick="window.open(`/b`)">Second</button>',
    '/b': '<title>Second</title><button onclick="window.close()">Close</button>'
  })
  await click('Second')
  t.match(await desk.place(), { title: 'Second', tabs: [{ isCurrent: false }, { isCurrent: true }] })
  await click('Close')
  t.match(await desk.place(), { title: 'First', tabs: { length: 1 } })
})

t.test('nothing that a page asks of the browser blocks its desk', needsChromium, async (t) => {
  const asks = [
    'print()',
    'document.documentElement.requestFullscreen()',
    'document.body.requestPointerLock()',
    'navigator.geolocation.getCurrentPosition(() => {})',
    'Notification.requestPermission()',
    'navigator.mediaDevices?.getUserMedia({ audio: true })',
    'navigator.credentials?.get({ password: true })',
    'navigator.clipboard?.readText()',
    'window.showOpenFilePicker?.()',
    'navigator.share?.({ text: "x" })',
    'navigator.registerProtocolHandler("web+x", "/%s")',
    'location.href = "mailto:a@b.example"',
    'navigator.usb?.requestDevice({ filters: [] })',
    'navigator.serviceWorker?.register("/sw.js")',
    'moveTo(0, 0), resizeTo(10, 10)'
  ]
  const buttons = asks.map(
    (ask, index) => `<button onclick='${ask}; document.title = "${index}"'>Ask ${index}.</button>`
  )
  const { desk, click } = await deskAt(t, browser, buttons.join(''))
  for (const [index, ask] of asks.entries()) {
    await click(`Ask ${index}.`)
    t.equal((await desk.place()).title, String(index), ask)
  }
})

t.test('a page asks for credentials in vain', needsChromium, async (t) => {
  const { desk } = await deskAt(
    t,
    browser,
    {},
    {
      other(_request, reply) {
        const headers = { 'www-authenticate': 'Basic realm="x"', 'content-type': 'text/html' }
        reply.writeHead(401, headers).end('<p>Who are you?')
      }
    }
  )
  t.match((await desk.look()).text, 'Who are you?')
})
