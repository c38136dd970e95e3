import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { EGRESS_FLAGS, probeUdp } from '../../src/egress/egress-check.ts'
import { launchPlain, needsChromium } from '../helpers/chromium.ts'

t.test('the flags keep WebRTC from sending UDP; without them the probe fails', needsChromium, async (t) => {
  const guarded = await launchPlain(EGRESS_FLAGS)
  t.teardown(() => guarded.close())
  await t.resolves(probeUdp(await guarded.newPage()))

  const unguarded = await launchPlain()
  t.teardown(() => unguarded.close())
  await t.rejects(probeUdp(await unguarded.newPage()), { code: 'RUN_ERR_BROWSER_FAILED' })
})

t.test('a page that is gone fails the probe', needsChromium, async (t) => {
  const browser = await launchPlain(EGRESS_FLAGS)
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  await page.close()
  await t.rejects(probeUdp(page), /closed/)
})

t.test('with the flags, a context without a proxy reaches nothing', needsChromium, async (t) => {
  let requests = 0
  const server = createServer((_request, reply) => (requests++, reply.end('SECRET')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo

  const browser = await launchPlain(EGRESS_FLAGS)
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  for (const host of ['127.0.0.1', 'localhost', 'a.localhost', '[::1]'])
    await t.rejects(page.goto(`http://${host}:${port}/`), /ERR_PROXY_CONNECTION_FAILED/, host)
  t.equal(requests, 0)
})
