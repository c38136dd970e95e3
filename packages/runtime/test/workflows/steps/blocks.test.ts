import { Type } from '@sinclair/typebox'
import { defineRunnable } from '@svc/registry'
import t from 'tap'
import { pause } from '@svc/testing'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import { member, runIn } from '../../helpers/make-team.ts'
import { makeWorkflow } from '../../helpers/make-workflow.ts'

const ms = (time: number) => pause(time, new AbortController().signal)

t.test('parallel: all at once, and what each gives under its name', async (t) => {
  let atOnce = 0
  let most = 0
  const busy = (output: string) => async () => {
    most = Math.max(most, ++atOnce)
    await ms(5)
    atOnce--
    return output
  }
  const flow = makeWorkflow((steps) =>
    steps.parallel('all', (inner) => ({
      a: inner.step('a1', busy('a')),
      b: inner.step('b1', busy('b')).step('b2', ({ previous }) => `${previous}!`),
      same: inner
    }))
  )
  const { result, said } = await runIn(flow, 'Hi')
  t.same(result?.structured, { a: 'a', b: 'b!', same: 'Hi' })
  t.equal(most, 2)
  t.ok(said.includes('all/b2: b!'))
})

t.test('parallel: one that fails ends the others', async (t) => {
  let ended: unknown
  const flow = makeWorkflow((steps) =>
    steps.parallel('all', (inner) => ({
      bad: inner.step('bad', () => ms(5).then(() => Promise.reject(new Error('no')))),
      slow: inner.step('slow', ({ signal }) =>
        pause(60_000, signal).catch(() => {
          ended = 'ended'
        })
      )
    }))
  )
  t.match((await runIn(flow)).error, { code: 'RUN_ERR_FAILED' })
  t.equal(ended, 'ended')
})

t.test('branch: one way, and no other', async (t) => {
  const way = (input: string) =>
    makeWorkflow((steps) =>
      steps
        .step('length', () => input.length)
        .branch(
          'which',
          ({ steps: { length } }) => (length > 3 ? 'long' : length > 1 ? 'short' : ('none' as never)),
          (inner) => ({
            long: inner.step('cut', ({ steps: { length } }) => `cut ${length}`),
            short: inner
          })
        )
    )
  t.match((await runIn(way('abcd'))).result, { text: 'cut 4' })
  t.match((await runIn(way('ab'))).result, { structured: 2 })
  t.match((await runIn(way('a'))).error, {
    code: 'RUN_ERR_STEP_NO_BRANCH',
    message: /"which" has no branch "none"/
  })
})

t.test('loop: each round on what the one before gave', async (t) => {
  const rounds: number[] = []
  const flow = (maxRounds: number) =>
    makeWorkflow((steps) =>
      steps
        .step('start', () => 1)
        .loop(
          'double',
          (inner) =>
            inner.step('twice', ({ previous, index }) => {
              rounds.push(index)
              return previous * 2
            }),
          { until: ({ previous }) => previous >= 8, maxRounds }
        )
    )
  t.match((await runIn(flow(3))).result, { structured: 8 })
  t.same(rounds, [0, 1, 2])
  t.match((await runIn(flow(2))).error, { code: 'RUN_ERR_STEP_LOOP_LIMIT', message: /"double".* 2 rounds/ })
})

t.test('map: each item, so many at once, in their order', async (t) => {
  let atOnce = 0
  let most = 0
  const flow = makeWorkflow(
    (steps) =>
      steps.map(
        'each',
        ({ input }) => input,
        (inner) =>
          inner
            .step('wait', async ({ previous }) => {
              most = Math.max(most, ++atOnce)
              await ms(previous)
              atOnce--
              return previous
            })
            .step('say', ({ previous, index }) => `${index}:${previous}`),
        { concurrency: 2 }
      ),
    { input: Type.Array(Type.Number()) }
  )
  t.same((await runIn(flow, [20, 1, 5, 1])).result?.structured, ['0:20', '1:1', '2:5', '3:1'])
  t.equal(most, 2)
  t.same((await runIn(flow, [])).result?.structured, [])
  const bad = makeWorkflow((steps) =>
    steps.map(
      'each',
      () => 'abc' as never,
      (inner) => inner
    )
  )
  t.match((await runIn(bad)).error, { code: 'RUN_ERR_STEP_BAD_OUTPUT' })
})

t.test('a runnable is given a message, or what it takes', async (t) => {
  const heard: unknown[] = []
  const listener = member('l', (_context, input) => heard.push(input))
  const typed = defineRunnable({
    kind: 'workflow',
    name: 'typed',
    inputSchema: Type.Object({ n: Type.Number() }),
    run: (input) => {
      heard.push(input)
      return { text: 'x', structured: { good: 'yes' } }
    }
  })
  const flow = makeWorkflow((steps) =>
    steps
      .step('object', () => ({ n: 1 }))
      .step('told', listener)
      .step('typed', typed, { from: 'object', output: Type.Object({ good: Type.String() }) })
      .step('list', () => [1, 2])
      .step('again', listener)
  )
  await runIn(flow)
  t.same(heard, ['{"n":1}', { n: 1 }, '[1,2]'])
  const strict = makeWorkflow((steps) =>
    steps.step('typed', typed, { input: () => ({ n: 1 }), output: Type.Object({ good: Type.Boolean() }) })
  )
  t.match((await runIn(strict)).error, { code: 'RUN_ERR_STEP_BAD_OUTPUT', message: /good/ })
  const unfit = makeWorkflow((steps) => steps.step('typed', typed))
  t.match((await runIn(unfit)).error, { code: 'RUN_ERR_BAD_INPUT' })
})

t.test(
  'an agent that is asked several times at once keeps no one waiting, and overhears nothing',
  async (t) => {
    const asked = Promise.withResolvers<void>()
    let calls = 0
    const model = scriptedModel(({ prompt }) => {
      if (++calls === 3) asked.resolve()
      return JSON.stringify(prompt)
    })
    // Nobody is answered before all three are asked.
    const doStream: typeof model.doStream = async (options) => {
      const answer = await model.doStream(options)
      await asked.promise
      return answer
    }
    const agent = new Agent({ name: 'a', model: { ...model, doStream }, register: false })
    const all = ['ada', 'bob', 'eve']
    for (const flow of [
      makeWorkflow((steps) =>
        steps.map(
          'each',
          () => all,
          (inner) => inner.step('say', agent)
        )
      ),
      makeWorkflow((steps) =>
        steps.parallel('both', (inner) =>
          Object.fromEntries(all.map((name) => [name, inner.step(name, agent, { input: () => name })]))
        )
      )
    ]) {
      calls = 0
      const { result } = await runIn(flow)
      const answers = Object.values(result?.structured as Record<string, string>)
      t.same(
        answers.map((answer) => all.filter((name) => answer.includes(name))),
        all.map((name) => [name])
      )
    }
  }
)
