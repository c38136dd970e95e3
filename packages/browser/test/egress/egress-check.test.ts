import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { EgressCheck } from '../../src/egress/egress-check.ts'

/** A page that does what a test says when it is asked to gather candidates. */
function page(gather: (port: number) => Promise<unknown>) {
  let asked = 0
  return {
    get asked() {
      return asked
    },
    evaluate(expression: string) {
      asked++
      return gather(Number(/stun:127\.0\.0\.1:(\d+)/.exec(expression)![1]))
    }
  }
}

async function sendUdp(port: number): Promise<void> {
  const socket = createSocket('udp4')
  socket.send('STUN', port, '127.0.0.1', () => socket.close())
  await once(socket, 'close')
}

t.test('one page is asked, whichever desk is first', async (t) => {
  const check = new EgressCheck()
  const pages = [1, 2, 3].map(() => page(async () => undefined))
  await Promise.all(pages.map((each) => check.pass(each)))
  await check.pass(pages[1]!)
  t.same(
    pages.map(({ asked }) => asked),
    [1, 0, 0]
  )
})

t.test('a page that is gone leaves the check to the next one', async (t) => {
  const check = new EgressCheck()
  const gone = page(() => Promise.reject(new Error('Target crashed')))
  const next = page(async () => undefined)
  const passing = check.pass(gone)
  const waiting = check.pass(next)
  await t.rejects(passing, { message: 'Target crashed' })
  await waiting
  t.equal(next.asked, 1)
})

t.test('a browser whose WebRTC does not work passes for no desk', async (t) => {
  await t.rejects(new EgressCheck().pass(page(async () => false)), { code: 'RUN_ERR_BROWSER_FAILED' })
})

t.test('a browser that sends UDP passes for no desk', async (t) => {
  const check = new EgressCheck()
  const leaking = page(sendUdp)
  const passing = check.pass(leaking)
  const waiting = check.pass(page(async () => undefined))
  await t.rejects(passing, { code: 'RUN_ERR_BROWSER_FAILED' })
  await t.rejects(waiting, { code: 'RUN_ERR_BROWSER_FAILED' })
  await t.rejects(check.pass(leaking), { code: 'RUN_ERR_BROWSER_FAILED' }, 'it is asked again')
})
