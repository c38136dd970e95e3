import { Type } from '@sinclair/typebox'
import { defineRunnable } from '@svc/registry'
import t from 'tap'
import { failing, makeTeam, member, runIn } from '../../helpers/make-team.ts'

t.test('each gets what the one before answered; the answer is told once', async (t) => {
  const heard: unknown[] = []
  const listening = (name: string) =>
    member(name, (_context, input) => heard.push(input), { type: 'text', text: `${name} says so` })
  const { result, said } = await runIn(
    makeTeam({ mode: 'sequence', members: [listening('a'), listening('b')] })
  )
  t.same(heard, ['Hi', 'a says so'])
  t.same(said, ['a: a says so', 'b: b says so', ': b says so'])
  t.match(result, { text: 'b says so', usage: { totalTokens: 6 } })
})

t.test('what is structured is handed on to who takes it', async (t) => {
  const heard: unknown[] = []
  const first = defineRunnable({
    kind: 'workflow',
    name: 'first',
    inputSchema: Type.Object({ n: Type.Number() }),
    run: (input) => ({ text: 'one', structured: { n: (input as { n: number }).n + 1 } })
  })
  const second = defineRunnable({
    kind: 'workflow',
    name: 'second',
    inputSchema: Type.Object({ n: Type.Number() }),
    run: (input) => {
      heard.push(input)
      return { text: 'two', structured: input }
    }
  })
  const team = makeTeam({
    mode: 'sequence',
    members: [first, second, member('last', (_c, input) => heard.push(input))]
  })
  t.match(team.describe().input, { properties: { n: {} } })
  await runIn(team, { n: 1 })
  t.same(heard, [{ n: 2 }, 'two'])
})

t.test('one that fails fails the run, and the next is not asked', async (t) => {
  const heard: unknown[] = []
  const members = [failing('bad'), member('next', () => heard.push(1))]
  const { error, parts } = await runIn(makeTeam({ mode: 'sequence', members }))
  t.match(error, { code: 'RUN_ERR_FAILED' })
  t.match(
    parts.filter(({ type }) => type === 'error'),
    [{ source: ['bad'] }, { error: { code: 'RUN_ERR_FAILED' } }]
  )
  t.same(heard, [])
})

t.test('usage that is told at the end only is counted', async (t) => {
  const usage = { promptTokens: 5, completionTokens: 5, totalTokens: 10 }
  const remote = defineRunnable({
    kind: 'agent',
    name: 'remote',
    async *stream() {
      yield { type: 'text', text: 'x' }
      yield { type: 'finish', finishReason: 'length', usage }
    }
  })
  const { result } = await runIn(makeTeam({ mode: 'sequence', members: [member('a'), remote] }))
  t.match(result, { finishReason: 'length', usage: { totalTokens: 13 } })
})

t.test('an answer that is structured only is a message too', async (t) => {
  const first = defineRunnable({
    kind: 'agent',
    name: 'first',
    run: () => ({ text: '', structured: { n: 1 } })
  })
  const heard: unknown[] = []
  const members = [first, member('last', (_context, input) => heard.push(input))]
  t.match((await runIn(makeTeam({ mode: 'sequence', members }))).result, { finishReason: 'stop' })
  t.same(heard, ['{"n":1}'])
})
