import { createContext, type RunContext } from '@svc/registry'
import type { BaseRunnable } from '@svc/runtime'
import t from 'tap'
import { collect, makeAgent } from '../helpers/make-agent.ts'
import { makeTeam, member } from '../helpers/make-team.ts'
import { makeWorkflow } from '../helpers/make-workflow.ts'

const runnables: readonly BaseRunnable[] = [
  makeAgent('Hello.').agent,
  makeTeam({ mode: 'sequence', members: [member('a')] }),
  makeWorkflow((flow) => flow.step('a', member('a')))
]
const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length

t.test('an unknown or bad option of a run is refused, and leaves nothing behind', async (t) => {
  const bad: [options: unknown, says: RegExp][] = [
    [{ session: 'me' }, /session: no such option/],
    [{ sessionId: 5 }, /sessionId: expected a string/],
    [{ signal: 'abort' }, /signal: expected an object/],
    [{ signal: {} }, /signal\/aborted: expected a boolean/],
    [{ signal: { aborted: false } }, /signal\/addEventListener: expected a function/],
    [{ principal: {} }, /principal\/sub: expected a string/],
    [{ principal: { sub: 'ada' } }, /principal\/scopes: expected a list/],
    [{ log: {} }, /log\/debug: expected a function/],
    [{ stores: {} }, /stores\/runs: expected an object/],
    [{ events: {} }, /events\/on: expected a function/],
    ['me', /expected an object/],
    [{ ...createContext() }, /(source|reported): no such option/],
    [{ child: () => {} }, /child: no such option/],
    [
      {
        get sessionId() {
          throw new TypeError('of the getter')
        }
      },
      /an option cannot be read/
    ],
    ...['sessionId', 'userId', 'runId'].flatMap((name): [unknown, RegExp][] =>
      ['', 'x'.repeat(257), 'a\0b', 'a\nb'].map((id) => [
        { [name]: id },
        new RegExp(`${name}: expected a string`)
      ])
    )
  ]
  for (const runnable of runnables)
    for (const [options, says] of bad) {
      const refused = { code: 'RUN_ERR_BAD_CONTEXT', message: says }
      const before = timers()
      await t.rejects(runnable.run('x', options as RunContext), refused)
      t.match((await collect(runnable.stream('x', options as RunContext))).error, refused)
      t.equal(timers(), before, `${runnable.kind}: no timer is left`)
    }
})

t.test('a run takes options, a context, or neither', async (t) => {
  for (const runnable of runnables) {
    t.ok((await runnable.run('x')).text)
    const { runId, sessionId } = await runnable.run('x', { runId: 'r1', sessionId: 's1', userId: 'ada' })
    t.strictSame({ runId, sessionId }, { runId: 'r1', sessionId: 's1' })
    t.equal((await runnable.run('x', createContext({ sessionId: 's2' }))).sessionId, 's2')
  }
})

t.test('options of a run reach its session, its model and its signal', async (t) => {
  const { agent, model } = makeAgent(['One.', 'Two.', { hangs: 'call' }])
  await agent.run('First', { sessionId: 's', userId: 'ada' })
  await agent.run('Second', { sessionId: 's', userId: 'ada' })
  t.match(JSON.stringify(model.calls[1]?.prompt), /First.*One\..*Second/)
  const controller = new AbortController()
  const running = agent.run('Third', { signal: controller.signal })
  setImmediate(() => controller.abort(new Error('gone')))
  await t.rejects(running, { message: 'gone' })
})
