import { Agent } from '@svc/runtime'
import t, { type Test } from 'tap'
import { collect, makeContext } from '../helpers/make-agent.ts'
import { startVendor, VENDORS, type Vendor } from '../helpers/vendors/vendors.ts'
import type { Said } from '../helpers/vendors/wires.ts'

// Every fault goes through the vendor's own package.

const retry = { attempts: 2, baseDelay: 1, maxDelay: 5 }
const hello: Said = { texts: ['Hel', 'lo.'] }

async function runWith(test: Test, vendor: Vendor, ...said: (Said | number)[]) {
  const { origin, bodies, refused } = await startVendor(test, vendor, said)
  const agent = new Agent({ name: 'tester', model: vendor.model(origin), register: false, retry })
  const { context, logged } = makeContext()
  return { ...(await collect(agent.stream('Hi', context))), bodies, refused, logged }
}

for (const [name, vendor] of Object.entries(VENDORS))
  t.test(name, async (t) => {
    await t.test('an overload before anything is said is tried again, whatever was streamed', async (t) => {
      for (const fault of [{ overloaded: true }, 503]) {
        const run = await runWith(t, vendor, fault, hello)
        t.match(run.error, undefined)
        t.equal(run.text, 'Hello.')
        t.strictSame(
          run.ofType('step.start').map(({ attempt }) => attempt),
          [1, 2]
        )
      }
    })

    await t.test('an overload after something was said is not', async (t) => {
      const run = await runWith(t, vendor, { texts: ['Hel'], overloaded: true }, hello)
      t.match(run.error, { code: 'RUN_ERR_MODEL_STREAM_BROKEN' })
      t.equal(run.bodies.length, 1)
    })

    await t.test('an odd reason with nothing said is tried again', async (t) => {
      const odd: Said = { reason: vendor.oddReason }
      const run = await runWith(t, vendor, odd, hello)
      t.match(run.error, undefined)
      t.equal(run.text, 'Hello.')
      const failed = await runWith(t, vendor, odd, odd, hello)
      t.match(failed.error, { code: 'RUN_ERR_MODEL_FAILED', message: new RegExp(vendor.oddReason) })
      t.equal(failed.bodies.length, 2)
      t.match(failed.logged, [
        { details: { finishReason: vendor.oddReason }, message: 'model call failed' },
        { details: { finishReason: vendor.oddReason } }
      ])
      const said = await runWith(t, vendor, { ...hello, reason: vendor.oddReason })
      t.equal(said.text, 'Hello.')
    })

    await t.test('no usage', async (t) => {
      const run = await runWith(t, vendor, { ...hello, usage: 'none' })
      t.match(run.error, undefined)
      t.equal(run.text, 'Hello.')
      t.notMatch(JSON.stringify(run.parts), 'NaN')
    })
  })
