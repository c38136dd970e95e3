import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { chromium } from '../../src/chromium/chromium.ts'
import { needsChromium } from '../helpers/chromium.ts'
import { deskAt } from '../helpers/desk-at.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())
const failed = { code: 'RUN_ERR_BROWSER_ACTION_FAILED' }
const refused = { code: 'RUN_ERR_BROWSER_HOST_REFUSED' }

t.test('pages', needsChromium, async (t) => {
  t.test('only http and https URLs are opened, of hosts that the policy allows', async (t) => {
    const { act, desk, origin } = await deskAt(t, browser, '<p>home', {
      hosts: { allows: (host) => host === '127.0.0.1', mayBePrivate: () => true }
    })
    const urls = [
      'file:///etc/passwd',
      'FILE:///etc/passwd',
      'chrome://version',
      'view-source:http://127.0.0.1',
      'data:text/html,x',
      'javascript:alert(1)',
      'blob:http://127.0.0.1/1',
      'about:version',
      'ftp://127.0.0.1',
      ` ${origin}`,
      `${origin}\n`,
      'java\tscript:1',
      `http://user:word@127.0.0.1/`,
      'http://user@127.0.0.1/',
      'http://other.example/',
      'http://127.0.0.1.other.example',
      'http://localhost:1/',
      'http://[::1]/',
      'http://2130706434/'
    ]
    for (const url of urls) await t.rejects(act({ action: 'open', url }), refused, JSON.stringify(url))
    for (const url of ['', 'shop', 'www.shop.example/a', 'http://', '//127.0.0.1/']) {
      await t.rejects(
        act({ action: 'open', url }),
        { ...failed, message: /starts with https:\/\// },
        JSON.stringify(url)
      )
    }
    await t.rejects(act({ action: 'open', url: 'http://other.example/', newTab: true }), refused)
    t.match(await desk.place(), { url: `${origin}/`, tabs: { length: 1 } })
    await act({ action: 'open', url: 'about:blank' })
    t.equal((await desk.place()).url, 'about:blank')
  })

  t.test('a redirect to a host that is not allowed is refused, also behind a click', async (t) => {
    const { act, find, origin } = await deskAt(t, browser, '<a href=/away>Away</a>', {
      hosts: { allows: (host) => host === '127.0.0.1', mayBePrivate: () => true },
      other: (_request, reply) => reply.writeHead(302, { location: 'https://other.invalid/' }).end()
    })
    const message = /the host other\.invalid/
    const at = await find('"Away"')
    await t.rejects(act({ action: 'click', at }), { ...refused, message })
    await t.rejects(act({ action: 'open', url: `${origin}/away` }), { ...refused, message })
  })

  t.test('an error status is reported, and why there is no page', async (t) => {
    const { act, origin, text } = await deskAt(t, browser, '<a href=/missing>Missing</a>', {
      other: (request, reply) => {
        if (request.url === '/reset') return request.socket.destroy()
        if (request.url === '/none') return reply.writeHead(204).end()
        if (request.url === '/loop') return reply.writeHead(302, { location: '/loop' }).end()
        return reply.writeHead(404, { 'content-type': 'text/html' }).end('<p>Nothing here')
      }
    })
    t.same((await act({ action: 'open', url: `${origin}/missing` })).notices, [
      'The server answered with HTTP status 404'
    ])
    t.match(await text(), 'Nothing here')
    for (const path of ['/none', '/loop']) {
      await t.rejects(act({ action: 'open', url: `${origin}${path}` }), failed, path)
    }
    // The proxy answers for a server that it cannot reach.
    const { notices } = await act({ action: 'open', url: `${origin}/reset` })
    t.same(notices, ['The server answered with HTTP status 502'])
    t.match(await text(), 'No connection to the host')
  })

  t.test('a page that never finishes is open as far as it is', async (t) => {
    const { act, origin, text } = await deskAt(
      t,
      browser,
      {
        '/': '<p>home',
        '/endless': '<p>first part<img src=/never>'
      },
      {
        timeout: { action: 1_000, navigation: 2_000 },
        other: (request, reply) => {
          if (request.url === '/drip')
            reply.writeHead(200, { 'content-type': 'text/html' }).write('<p>first drop')
        }
      }
    )
    for (const path of ['/endless', '/drip']) {
      t.same(
        (await act({ action: 'open', url: `${origin}${path}` })).notices,
        ['The page is still loading'],
        path
      )
      t.match(await text(), 'first')
    }
    await t.rejects(act({ action: 'open', url: `${origin}/silent` }), {
      ...failed,
      message: /did not respond within 2000 ms/
    })
    t.match(await text(), 'first drop', 'the page before stays')
  })

  t.test('a click that navigates waits for the page, longer than for an action', async (t) => {
    const { act, find, text } = await deskAt(t, browser, '<a href=/slow>Slow</a>', {
      timeout: { action: 1_500, navigation: 20_000 },
      other: (_request, reply) => {
        setTimeout(() => reply.writeHead(200, { 'content-type': 'text/html' }).end('<p>arrived'), 2_000)
      }
    })
    await act({ action: 'click', at: await find('"Slow"') })
    t.match(await text(), 'arrived')
  })

  t.test('a page drawn after its requests is awaited', async (t) => {
    const { act, find, text } = await deskAt(
      t,
      browser,
      {
        '/': `<button onclick="load()">Load</button><ul id=list></ul><script>
        async function load() {
          const one = await (await fetch('/data')).text()
          const two = await (await fetch('/data')).text()
          list.innerHTML = '<li>' + one + two
        }</script>`
      },
      { other: (_request, reply) => setTimeout(() => reply.end('ab'), 100) }
    )
    await act({ action: 'click', at: await find('"Load"') })
    t.match(await text(), 'abab')
  })

  t.test('back goes to the page before, and not beyond the first', async (t) => {
    const { act, desk, origin } = await deskAt(t, browser, { '/': '<p>one', '/two': '<p>two' })
    await act({ action: 'open', url: `${origin}/two` })
    await act({ action: 'back' })
    t.equal((await desk.place()).url, `${origin}/`)
    await t.rejects(act({ action: 'back' }), { ...failed, message: /no earlier page/ })
    t.equal((await desk.place()).url, `${origin}/`)
  })

  t.test('reload never sends a form again', async (t) => {
    const methods: string[] = []
    const { act, find, text } = await deskAt(
      t,
      browser,
      '<form method=post action=/order><button>Order</button></form>',
      {
        other: (request, reply) => {
          methods.push(request.method!)
          reply.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${request.method} ${methods.length}`)
        }
      }
    )
    await act({ action: 'click', at: await find('"Order"') })
    t.match(await text(), 'POST 1')
    await act({ action: 'reload' })
    t.match(await text(), 'GET 2')
    await act({ action: 'reload' })
    t.match(await text(), 'GET 3')
    t.same(methods, ['POST', 'GET', 'GET'])
  })

  t.test(
    'tabs: opened by an action or by a link, chosen, closed; the last leaves an empty one',
    async (t) => {
      const { act, desk, find, origin, text } = await deskAt(t, browser, {
        '/': '<p>one<a href=/two target=_blank>Two</a>',
        '/two': '<p>second'
      })
      await act({ action: 'click', at: await find('"Two"') })
      t.match(await desk.place(), { url: `${origin}/two`, tabs: { length: 2 } })
      t.match(await text(), 'second')
      await act({ action: 'tab', index: 0 })
      t.equal((await desk.place()).url, `${origin}/`)
      await act({ action: 'open', url: `${origin}/two`, newTab: true })
      t.equal((await desk.place()).tabs.length, 3)
      await t.rejects(act({ action: 'tab', index: 7 }), failed)
      await t.rejects(act({ action: 'tab', index: 7, close: true }), failed)
      for (const _ of [1, 2, 3]) await act({ action: 'tab', index: 0, close: true })
      t.match(await desk.place(), { url: 'about:blank', tabs: { length: 1 } })
    }
  )

  t.test('a dialog is answered, or there is none', async (t) => {
    const { act, desk, find, title } = await deskAt(
      t,
      browser,
      `<button onclick="document.title = prompt('Name?')">Ask</button><button onclick="document.title = confirm('Sure?')">Confirm</button>`
    )
    await t.rejects(act({ action: 'dialog', accept: true }), { ...failed, message: /no dialog is open/ })
    await act({ action: 'click', at: await find('"Ask"') })
    t.match((await desk.place()).dialog, { type: 'prompt', message: 'Name?' })
    await act({ action: 'dialog', accept: true, text: 'Ada' })
    t.equal(await title(), 'Ada')
    await act({ action: 'click', at: await find('"Confirm"') })
    await act({ action: 'dialog', accept: false })
    t.equal(await title(), 'false')
  })

  t.test('a dialog of a new tab ends the action that opens it', async (t) => {
    const { act, desk, find, origin } = await deskAt(t, browser, {
      '/': '<a href=/ask target=_blank>Ask</a>',
      '/ask': `<script>document.title = confirm('Sure?')</script>`
    })
    await act({ action: 'click', at: await find('"Ask"') })
    t.match(await desk.place(), { url: `${origin}/ask`, dialog: { message: 'Sure?' } })
    await act({ action: 'dialog', accept: true })
    t.match(await desk.place(), { title: 'true', dialog: undefined })
    await act({ action: 'open', url: `${origin}/ask`, newTab: true })
    t.match(await desk.place(), { tabs: { length: 3 }, dialog: { message: 'Sure?' } })
  })

  t.test('a certificate that is not valid is an error that says so', async (t) => {
    const pem = readFileSync(new URL('../fixtures/shop.example.pem', import.meta.url))
    const server = createServer({ key: pem, cert: pem }, (_request, reply) => reply.end()).listen(
      0,
      '127.0.0.1'
    )
    await once(server, 'listening')
    t.teardown(() => server.close())
    const { act } = await deskAt(t, browser, '')
    const { port } = server.address() as AddressInfo
    const opened = act({ action: 'open', url: `https://127.0.0.1:${port}/` })
    await t.rejects(opened, { ...failed, message: /no valid certificate.*\(ERR_CERT_/ })
  })
})
