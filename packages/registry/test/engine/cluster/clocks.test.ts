import { setImmediate as turn } from 'node:timers/promises'
import { defineRunnable, type Run } from '@svc/registry'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'
import { partsOf } from '../../helpers/collect.ts'
import { cluster, textOf, type Member, stayAlive } from '../../helpers/engine-cluster.ts'

const HOUR = 3_600_000
const MINUTE = 60_000

stayAlive(t)

/** Two engines whose stores have another clock than their process. */
async function skewed(runnable: Parameters<typeof cluster>[1][0], skew: number) {
  const clock = () => Date.now() + skew
  return (await cluster(t, [runnable], 2, {}, clock)) as [Member, Member]
}

/** Waits until a run asks; returns the id of the input. */
async function asked({ engine }: Member, { runId }: Run): Promise<string> {
  while ((await engine.findInput(`${runId}.1`)) === undefined) await turn()
  return `${runId}.1`
}

for (const skew of [HOUR, -HOUR])
  t.test(`inputs wait by the clock of the stores, ${skew / HOUR} hour ahead`, async (t) => {
    const asking = scriptedRunnable([
      async ({ approvals }) => {
        const { approved } = await approvals.request({ toolCallId: 'c', toolName: 't', args: {} })
        t.equal(approved, true)
      }
    ])
    const [first, second] = await skewed(asking, skew)
    const run = await first.engine.start(asking, 'x')
    const inputId = await asked(second, run)
    const { expiresAt } = (await second.engine.findInput(inputId))!.input
    const left = expiresAt - skew - Date.now()
    t.ok(left > 4 * MINUTE && left <= 5 * MINUTE, 'five minutes')
    await second.engine.answer(inputId, { approved: true })
    t.match(await run.result(), { finishReason: 'stop' })
  })

t.test('an input expires, and a run sleeps, by the clock of the stores', async (t) => {
  const waiting = scriptedRunnable([
    async (context) => {
      const request = { toolCallId: 'c', toolName: 't', args: {}, timeout: 20 }
      t.match(await context.approvals.request(request), { approved: false, expired: true })
      const until = context.now() + 20
      await context.sleep(until)
      t.ok(context.now() >= until)
    }
  ])
  const [first] = await skewed(waiting, HOUR)
  t.match(await (await first.engine.start(waiting, 'x')).result(), { finishReason: 'stop' })
})

t.test('a dormant run is woken by the clock of the stores', async (t) => {
  const sleeping = Promise.withResolvers<void>()
  const flow = defineRunnable({
    kind: 'workflow',
    name: 'sleeper',
    resumable: true,
    async *stream(_input, context) {
      const until = await context.step('end', () => context.now() + 1_500)
      sleeping.resolve()
      await context.sleep(until)
      yield { type: 'text', text: context.now() >= until ? 'slept' : 'too early' }
    }
  })
  const [first, second] = await skewed(flow, HOUR)
  const run = await first.engine.start(flow, 'x')
  await sleeping.promise
  first.node.loseContact()
  first.node.declareDead()
  t.equal(textOf(await partsOf({ parts: (after) => second.engine.parts(run.runId, after) })), 'slept')
})
