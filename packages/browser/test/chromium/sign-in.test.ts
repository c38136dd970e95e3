import t from 'tap'
import { chromium } from '../../src/chromium/chromium.ts'
import { needsChromium } from '../helpers/chromium.ts'
import { deskAt } from '../helpers/desk-at.ts'

const browser = chromium({ sandbox: false })
t.teardown(() => browser.close())

t.test('a tab, a new one too, requests once what it may keep', needsChromium, async (t) => {
  let requests = 0
  const { act, origin } = await deskAt(
    t,
    browser,
    { '/': '<script src=/kept.js></script>', '/next': '<script src=/kept.js></script>' },
    {
      other: (_, reply) => {
        requests++
        reply.writeHead(200, { 'content-type': 'text/javascript', 'cache-control': 'max-age=3600' }).end('1')
      }
    }
  )
  await act({ action: 'open', url: `${origin}/next` })
  await act({ action: 'open', url: `${origin}/next`, newTab: true })
  t.equal(requests, 1)
})

t.test(
  'a host that demands credentials for a proxy gets none, and signs out no desk',
  needsChromium,
  async (t) => {
    const seen: (string | undefined)[] = []
    const { act, text, origin } = await deskAt(t, browser, '<h1>Shop</h1>', {
      other: (request, reply) => {
        seen.push(request.headers['proxy-authorization'])
        reply.writeHead(407, { 'proxy-authenticate': 'Basic realm="desk"' }).end('SECRET')
      }
    })
    await act({ action: 'open', url: `${origin}/demands` })
    t.notMatch(await text(), 'SECRET')
    t.same(seen, [undefined])
    await act({ action: 'open', url: origin })
    t.match(await text(), 'Shop')
  }
)
